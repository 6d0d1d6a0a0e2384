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

# GCC looks through its heap for garbage each time that it has doubled; most files end before half a
# gigabyte, and compile in a tenth less time when it does not look.
add_compile_options(
  "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-expand=10000 --param ggc-min-heapsize=500000>")

find_program(WINNOW_LLD ld.lld)
if(WINNOW_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# What hiredis asks of its users, for all: precompiled headers are refused where macros differ.
add_compile_definitions(_FILE_OFFSET_BITS=64)

# For code of ours; generated code does without.
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

# Headers that many files include and none of ours, so that edits never rebuild them; compiled once
# and used by every target (GCC takes one only with the flags it was made with).
function(winnow_precompile name)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/${name}.cc" CONTENT "")
  add_library(${name} OBJECT "${CMAKE_BINARY_DIR}/${name}.cc")
  target_link_libraries(${name} PRIVATE winnow_warnings)  # -Wpedantic takes macros away
  target_compile_options(${name} PRIVATE -pthread)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()
set(WINNOW_COMMON_HEADERS
  <absl/status/statusor.h> <algorithm> <chrono> <functional> <google/protobuf/message.h>
  <grpcpp/grpcpp.h> <map> <memory> <mutex> <optional> <span> <string> <string_view> <thread>
  <unordered_map> <utility> <variant> <vector>)
winnow_precompile(winnow_pch ${WINNOW_COMMON_HEADERS})
winnow_precompile(winnow_test_pch
  ${WINNOW_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
# Tests need no speed of their own, and compile in half the time.
set(WINNOW_TEST_OPTIONS -O0)
target_link_libraries(winnow_test_pch PRIVATE GTest::gtest)  # its macros
target_compile_options(winnow_test_pch PRIVATE ${WINNOW_TEST_OPTIONS})

# winnow_own(<target>): a target of our own code.
function(winnow_own target)
  target_link_libraries(${target} PRIVATE winnow_warnings)
  target_precompile_headers(${target} REUSE_FROM winnow_pch)
endfunction()

# winnow_own_test(<target>): one of tests alone; what benchmarks share is none.
function(winnow_own_test target)
  target_link_libraries(${target} PRIVATE winnow_warnings)
  target_compile_options(${target} PRIVATE ${WINNOW_TEST_OPTIONS})
  target_precompile_headers(${target} REUSE_FROM winnow_test_pch)
endfunction()
