#pragma once

#include <zlib.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/app/client/interrupt.h"
#include "services/platform/base/status.h"

namespace winnow::app {

// Bytes of a file or of standard input ("-"), unpacked when they are gzip, which is detected by the
// bytes and not by the name. Memory use is constant.
class ByteSource {
 public:
  // Error: NOT_FOUND or FAILED_PRECONDITION that names the file and why it cannot be read.
  static StatusOr<std::unique_ptr<ByteSource>> Open(const std::string& path,
                                                    const Interrupt& interrupt);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Fills `out` from the front and answers how much; 0 at the end. Errors: CANCELLED when it was
  // interrupted while waiting, DATA_LOSS when the gzip is cut off or damaged.
  StatusOr<size_t> Read(std::span<char> out);

  int64_t bytes_read() const { return bytes_read_; }                   // of the file, packed
  std::optional<int64_t> bytes_total() const { return bytes_total_; }  // absent for pipes

 private:
  ByteSource(int fd, std::string name, const Interrupt& interrupt);
  StatusOr<size_t> ReadFile(std::span<char> out);
  Status Fill();
  StatusOr<size_t> Unpack(std::span<char> out);
  Status BeginMember();
  Status Damaged(const char* how) const;

  const int fd_;
  const std::string name_;
  const Interrupt& interrupt_;
  int64_t bytes_read_ = 0;
  std::optional<int64_t> bytes_total_;

  std::vector<char> packed_;  // what was read and not yet handed on
  std::span<char> unconsumed_;
  bool begun_ = false;
  bool at_end_ = false;
  bool gzip_ = false;
  bool damaged_ = false;  // found behind what was handed out
  bool in_member_ = false;
  std::optional<z_stream> inflate_;
};

}  // namespace winnow::app
