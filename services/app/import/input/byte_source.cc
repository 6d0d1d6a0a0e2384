#include "services/app/import/input/byte_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace winnow::app {
namespace {

constexpr size_t kPackedBytes = 256 << 10;
constexpr int kGzipWindowBits = 15 + 16;  // zlib: the largest window, with a gzip header

std::string Reason(int error) { return std::generic_category().message(error); }

bool BeginsLikeGzip(std::span<const char> bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

}  // namespace

StatusOr<std::unique_ptr<ByteSource>> ByteSource::Open(const std::string& path,
                                                       const Interrupt& interrupt) {
  const bool standard_input = path == "-";
  const int fd = standard_input ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const std::string name = standard_input ? "standard input" : path;
  if (fd < 0) return FailedPrecondition(name + " cannot be read: " + Reason(errno));
  // The constructor is private, out of make_unique's reach.
  std::unique_ptr<ByteSource> source(new ByteSource(fd, name, interrupt));
  struct stat info = {};
  if (fstat(fd, &info) != 0) return FailedPrecondition(name + ": " + Reason(errno));
  if (S_ISDIR(info.st_mode)) {
    return FailedPrecondition(name + " is a directory: give a .jsonl or .jsonl.gz file");
  }
  if (S_ISREG(info.st_mode)) source->bytes_total_ = info.st_size;
  return source;
}

ByteSource::ByteSource(int fd, std::string name, const Interrupt& interrupt)
    : fd_(fd), name_(std::move(name)), interrupt_(interrupt), packed_(kPackedBytes) {}

ByteSource::~ByteSource() {
  if (inflate_) inflateEnd(&*inflate_);
  close(fd_);
}

StatusOr<size_t> ByteSource::ReadFile(std::span<char> out) {
  while (true) {
    // A pipe may be silent for long: Ctrl-C must get through meanwhile.
    pollfd waited[] = {{.fd = fd_, .events = POLLIN, .revents = 0},
                       {.fd = interrupt_.fd(), .events = POLLIN, .revents = 0}};
    if (poll(waited, 2, -1) < 0 && errno != EINTR) {
      return FailedPrecondition(name_ + " cannot be read: " + Reason(errno));
    }
    if (interrupt_.requested()) return Status(StatusCode::kCancelled, "interrupted");
    if (waited[0].revents == 0) continue;
    const ssize_t count = read(fd_, out.data(), out.size());
    if (count >= 0) {
      bytes_read_ += count;
      return static_cast<size_t>(count);
    }
    if (errno != EINTR && errno != EAGAIN) {
      return FailedPrecondition(name_ + " cannot be read: " + Reason(errno));
    }
  }
}

Status ByteSource::Fill() {
  if (at_end_ || !unconsumed_.empty()) return OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const size_t count, ReadFile(packed_));
  at_end_ = count == 0;
  unconsumed_ = std::span(packed_).first(count);
  return OkStatus();
}

StatusOr<size_t> ByteSource::Read(std::span<char> out) {
  if (!begun_) {
    WINNOW_RETURN_IF_ERROR(Fill());
    // A pipe may hand over its first byte alone.
    while (unconsumed_.size() == 1 && !at_end_) {
      WINNOW_ASSIGN_OR_RETURN(const size_t more, ReadFile(std::span(packed_).subspan(1)));
      at_end_ = more == 0;
      unconsumed_ = std::span(packed_).first(1 + more);
    }
    gzip_ = BeginsLikeGzip(unconsumed_);
    begun_ = true;
  }
  if (gzip_) return Unpack(out);
  WINNOW_RETURN_IF_ERROR(Fill());
  const size_t count = std::min(out.size(), unconsumed_.size());
  std::memcpy(out.data(), unconsumed_.data(), count);
  unconsumed_ = unconsumed_.subspan(count);
  return count;
}

Status ByteSource::Damaged(const char* how) const {
  return Status(StatusCode::kDataLoss, name_ + ": its gzip data " + how);
}

// A .gz file may be several gzip members one after the other.
Status ByteSource::BeginMember() {
  if (inflate_) {
    inflateReset(&*inflate_);
  } else {
    inflate_.emplace();
    if (inflateInit2(&*inflate_, kGzipWindowBits) != Z_OK) {
      inflate_.reset();
      return Internal("zlib cannot start");
    }
  }
  in_member_ = true;
  return OkStatus();
}

StatusOr<size_t> ByteSource::Unpack(std::span<char> out) {
  if (damaged_) return Damaged("is damaged");
  while (true) {
    WINNOW_RETURN_IF_ERROR(Fill());
    if (unconsumed_.empty()) {
      if (in_member_) return Damaged("ends early: the file is cut off");
      return 0;
    }
    if (!in_member_) {
      // tar and tapes pad with zeros, which gzip ignores too.
      const auto content = std::find_if(unconsumed_.begin(), unconsumed_.end(),
                                        [](char byte) { return byte != '\0'; });
      unconsumed_ = std::span(content, unconsumed_.end());
      if (unconsumed_.empty()) continue;
      WINNOW_RETURN_IF_ERROR(BeginMember());
    }
    inflate_->next_in = reinterpret_cast<Bytef*>(unconsumed_.data());
    inflate_->avail_in = static_cast<uInt>(unconsumed_.size());
    inflate_->next_out = reinterpret_cast<Bytef*>(out.data());
    inflate_->avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&*inflate_, Z_NO_FLUSH);
    unconsumed_ = unconsumed_.last(inflate_->avail_in);
    if (result == Z_STREAM_END) in_member_ = false;
    const bool damaged = result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR;
    const size_t count = out.size() - inflate_->avail_out;
    if (count > 0) {
      damaged_ = damaged;
      return count;
    }
    if (damaged) return Damaged("is damaged");
  }
}

}  // namespace winnow::app
