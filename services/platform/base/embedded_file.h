#pragma once

#include <string_view>

namespace winnow::embedded {

// A text file of the source tree that was compiled in (cmake/embed.cmake).
struct File {
  std::string_view name;  // without its folder, e.g. "0001_init.sql"
  std::string_view text;
};

}  // namespace winnow::embedded
