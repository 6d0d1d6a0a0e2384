#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/config/config.h"

// What the tests of the configuration share.
namespace winnow {

// "field: description" of each violation.
inline std::vector<std::string> Lines(const Status& status) {
  std::vector<std::string> lines;
  for (const Violation& violation : ViolationsOf(status)) {
    lines.push_back(violation.field + ": " + violation.description);
  }
  return lines;
}

inline std::vector<std::string> ParseLines(std::string_view json) {
  return Lines(ParseConfig(json, "w.json").status());
}

// A config of these settings with its defaults.
inline config::v1::Config Filled(std::string_view json) {
  auto config = ParseConfig(json, "w.json");
  EXPECT_TRUE(config.ok()) << config.status();
  FillDefaults(*config, {.cpus = 2});
  if (config->data_dir().empty()) config->set_data_dir("/tmp/x");
  return *config;
}

inline std::vector<std::string> CheckLines(std::string_view json) {
  return Lines(CheckConfig(Filled(json)));
}

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::path("/tmp") / "winnow-config-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace winnow
