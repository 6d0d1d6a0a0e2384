#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/status.h"

namespace winnow {

// The opaque page token of every list: base64url of version, kind, hash of the request's filters,
// the key to go on from, and a checksum. It needs no server state and grants nothing. Fields are
// written and read back in one order; numbers are little endian, strings carry their length.
class PageTokenWriter {
 public:
  // `kind` identifies the list; `filter_hash` covers what must not change
  // between pages.
  PageTokenWriter(uint8_t kind, uint64_t filter_hash);
  PageTokenWriter& Add(int64_t number);
  PageTokenWriter& Add(std::string_view text);
  std::string Finish() const;

 private:
  std::string bytes_;
};

class PageTokenReader {
 public:
  // Errors: INVALID_PAGE_TOKEN that says whether it is malformed, of another version, of another
  // list or of a request with other filters.
  static StatusOr<PageTokenReader> Parse(std::string_view token, uint8_t kind,
                                         uint64_t filter_hash);
  StatusOr<int64_t> ReadNumber();
  StatusOr<std::string> ReadText();
  Status Read(int64_t& number);
  Status Read(std::string& text);
  // OK when nothing is left.
  Status Finish() const;

 private:
  explicit PageTokenReader(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string bytes_;
  size_t position_ = 0;
};

// The token of `fields`, each an int64_t or text, which ReadPageToken reads in that order.
template <class... Fields>
std::string MakePageToken(uint8_t kind, uint64_t filter_hash, const Fields&... fields) {
  PageTokenWriter writer(kind, filter_hash);
  (writer.Add(fields), ...);
  return writer.Finish();
}

// Reads the fields of a token, each an int64_t or a std::string. Without a token they stay as they
// are. Errors: those of PageTokenReader.
template <class... Fields>
Status ReadPageToken(std::string_view token, uint8_t kind, uint64_t filter_hash,
                     Fields&... fields) {
  if (token.empty()) return OkStatus();
  WINNOW_ASSIGN_OR_RETURN(PageTokenReader reader, PageTokenReader::Parse(token, kind, filter_hash));
  Status status;
  (void)((status = reader.Read(fields), status.ok()) && ...);
  return status.ok() ? reader.Finish() : status;
}

// A page is read with one row more, which shows that another page follows. Removes that row;
// returns whether it was there.
template <class Row>
bool TrimPage(std::vector<Row>& rows, int page_size) {
  if (rows.size() <= static_cast<size_t>(page_size)) return false;
  rows.erase(rows.begin() + page_size, rows.end());
  return true;
}

// Page sizes by the API's rule: 0 is `default_size`, above `max_size` is coerced, negative is a
// violation of `page_size`.
StatusOr<int> PageSize(int requested, int default_size, int max_size);

}  // namespace winnow
