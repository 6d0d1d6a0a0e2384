#include "services/platform/base/page_token.h"

#include <algorithm>
#include <limits>

#include "services/platform/base/base64url.h"
#include "services/platform/base/hash.h"

namespace winnow {
namespace {

constexpr char kVersion = 1;
constexpr size_t kHeaderSize = 1 + 1 + 8;  // version, kind, filter hash
constexpr size_t kChecksumSize = 4;
constexpr size_t kMaxTokenSize = 8 * 1024;  // characters
constexpr uint64_t kChecksumSeed = 0x77696e6e6f77;
constexpr char kNumberTag = 'n';
constexpr char kTextTag = 't';

void AppendLittleEndian(uint64_t value, size_t size, std::string& out) {
  for (size_t i = 0; i < size; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
}

uint64_t ReadLittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    value = (value << 8) | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

uint64_t Checksum(std::string_view bytes) {
  return Hash64(bytes, kChecksumSeed) & std::numeric_limits<uint32_t>::max();
}

Status Malformed() {
  return InvalidPageToken("is malformed; start again without a token, or use one as it came");
}

}  // namespace

PageTokenWriter::PageTokenWriter(uint8_t kind, uint64_t filter_hash) {
  bytes_ += kVersion;
  bytes_ += static_cast<char>(kind);
  AppendLittleEndian(filter_hash, 8, bytes_);
}

PageTokenWriter& PageTokenWriter::Add(int64_t number) {
  bytes_ += kNumberTag;
  AppendLittleEndian(static_cast<uint64_t>(number), 8, bytes_);
  return *this;
}

PageTokenWriter& PageTokenWriter::Add(std::string_view text) {
  bytes_ += kTextTag;
  AppendLittleEndian(text.size(), 4, bytes_);
  bytes_ += text;
  return *this;
}

std::string PageTokenWriter::Finish() const {
  std::string bytes = bytes_;
  AppendLittleEndian(Checksum(bytes_), kChecksumSize, bytes);
  return EncodeBase64Url(bytes);
}

StatusOr<PageTokenReader> PageTokenReader::Parse(std::string_view token, uint8_t kind,
                                                 uint64_t filter_hash) {
  if (token.size() > kMaxTokenSize) return Malformed();
  auto decoded = DecodeBase64Url(token);
  if (!decoded || decoded->size() < kHeaderSize + kChecksumSize) return Malformed();
  std::string bytes = *std::move(decoded);
  const size_t body = bytes.size() - kChecksumSize;
  const std::string_view view = bytes;
  if (ReadLittleEndian(view.substr(body)) != Checksum(view.substr(0, body))) return Malformed();
  if (bytes[0] != kVersion) {
    return InvalidPageToken("is of another version of Winnow; start again without a token");
  }
  if (static_cast<uint8_t>(bytes[1]) != kind) {
    return InvalidPageToken("belongs to another list; start again without a token");
  }
  if (ReadLittleEndian(view.substr(2, 8)) != filter_hash) {
    return InvalidPageToken(
        "belongs to a request with other filters; keep them, or start again without a token");
  }
  bytes.resize(body);
  bytes.erase(0, kHeaderSize);
  return PageTokenReader(std::move(bytes));
}

StatusOr<int64_t> PageTokenReader::ReadNumber() {
  const std::string_view rest = std::string_view(bytes_).substr(position_);
  if (rest.size() < 9 || rest[0] != kNumberTag) return Malformed();
  position_ += 9;
  return static_cast<int64_t>(ReadLittleEndian(rest.substr(1, 8)));
}

StatusOr<std::string> PageTokenReader::ReadText() {
  const std::string_view rest = std::string_view(bytes_).substr(position_);
  if (rest.size() < 5 || rest[0] != kTextTag) return Malformed();
  const uint64_t size = ReadLittleEndian(rest.substr(1, 4));
  if (size > rest.size() - 5) return Malformed();
  position_ += 5 + size;
  return std::string(rest.substr(5, size));
}

Status PageTokenReader::Read(int64_t& number) {
  WINNOW_ASSIGN_OR_RETURN(number, ReadNumber());
  return OkStatus();
}

Status PageTokenReader::Read(std::string& text) {
  WINNOW_ASSIGN_OR_RETURN(text, ReadText());
  return OkStatus();
}

Status PageTokenReader::Finish() const {
  return position_ == bytes_.size() ? OkStatus() : Malformed();
}

StatusOr<int> PageSize(int requested, int default_size, int max_size) {
  if (requested < 0) {
    return InvalidField("page_size", "must not be negative: 0 asks for the default of " +
                                         std::to_string(default_size));
  }
  return requested == 0 ? default_size : std::min(requested, max_size);
}

}  // namespace winnow
