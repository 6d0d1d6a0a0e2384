# Standard, warnings, linker and compiler cache for every target of ours.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELEASE "-O2")  # asserts stay on: an impossible state must not go unseen
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

find_program(WINNOW_CCACHE ccache)
if(WINNOW_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${WINNOW_CCACHE}")
  # ccache needs these of GCC to cache files that use a precompiled header.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()

find_program(WINNOW_LLD ld.lld)
if(WINNOW_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# Usage: target_link_libraries(x PRIVATE winnow_warnings). Generated code does without.
add_library(winnow_warnings INTERFACE)
target_compile_options(winnow_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow=local -Wnon-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -Wunused-result)
# With optimisation GCC 12 reports overruns inside std::string that are not there (its bug 105651);
# the sanitizers find the real ones.
set(WINNOW_FALSE_WARNINGS -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict
  -Wno-stringop-overflow -Wno-stringop-overread)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
    AND (WINNOW_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Release"))
  target_compile_options(winnow_warnings INTERFACE ${WINNOW_FALSE_WARNINGS})
endif()

# Headers that nearly every file includes and none of ours, so that edits never rebuild it.
add_library(winnow_pch INTERFACE)
target_precompile_headers(winnow_pch INTERFACE
  <absl/status/statusor.h> <algorithm> <chrono> <functional> <map> <memory> <mutex> <optional>
  <span> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>)
