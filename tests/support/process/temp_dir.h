#pragma once

#include <string>

namespace winnow::test {

// A directory under /tmp that every user may enter, whatever TMPDIR and the umask are: PostgreSQL
// runs as a user of its own. Removed with everything in it at the end.
class TempDir {
 public:
  explicit TempDir(const std::string& purpose);
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace winnow::test
