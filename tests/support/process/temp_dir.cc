#include "tests/support/process/temp_dir.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <stdexcept>

namespace winnow::test {

TempDir::TempDir(const std::string& purpose) : path_("/tmp/winnow-" + purpose + "-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr || chmod(path_.c_str(), 0755) != 0) {
    throw std::runtime_error("cannot make " + path_ + ": " + strerror(errno));
  }
}

TempDir::~TempDir() {
  std::error_code error;
  // A server that is just ending may remove files of its own at the same time.
  for (int tries = 0; tries < 3; ++tries) {
    std::filesystem::remove_all(path_, error);
    if (!error) return;
  }
  std::cerr << "cannot remove " << path_ << ": " << error.message() << "\n";
}

}  // namespace winnow::test
