#include "services/platform/process/process_metrics.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "services/platform/process/metrics.h"
#include "tests/unit/platform/config/config_test.h"

namespace winnow {
namespace {

using ::testing::HasSubstr;

TEST(ProcessMetrics, AreReadFromProc) {
  const TempDir dir;
  // A name may hold spaces and parentheses.
  dir.Write("self/stat",
            "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 250 150 0 0 20 0 9 0 "
            "3000 104857600 512 18446744073709551615 1 1 0\n");
  dir.Write("stat", "cpu  1 2 3\nbtime 1700000000\n");
  dir.Write("self/limits",
            "Limit                     Soft Limit           Hard Limit           Units\n"
            "Max open files            1024                 4096                 files\n");
  dir.Write("self/fd/0", "");
  dir.Write("self/fd/1", "");
  const ProcessSample sample = ReadProcess(dir.path());
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  EXPECT_EQ(sample.cpu_seconds, 400 / ticks);
  EXPECT_EQ(sample.start_time_seconds, 1'700'000'000 + 3000 / ticks);
  EXPECT_EQ(sample.threads, 9);
  EXPECT_EQ(sample.virtual_bytes, 104'857'600);
  EXPECT_EQ(sample.resident_bytes, 512 * ::sysconf(_SC_PAGESIZE));
  EXPECT_EQ(sample.open_fds, 2);
  EXPECT_EQ(sample.max_fds, 1024);
}

TEST(ProcessMetrics, WhatCannotBeReadIsLeftOut) {
  const TempDir dir;
  EXPECT_TRUE(ProcessFamilies(ReadProcess(dir.path())).empty());
  dir.Write("self/stat", "7 (cut off) S 1\n");
  dir.Write("self/limits", "Max open files            unlimited            unlimited   files\n");
  EXPECT_TRUE(ProcessFamilies(ReadProcess(dir.path())).empty());
}

TEST(ProcessMetrics, OpenDescriptorsAreCountedAsTheyAre) {
  const auto before = ReadProcess("/proc").open_fds;
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(ReadProcess("/proc").open_fds, *before + 1);
  ::close(fd);
  EXPECT_EQ(ReadProcess("/proc").open_fds, before);
}

TEST(ProcessMetrics, EveryScrapeHasThem) {
  const std::string page = Metrics().Render();
  for (const char* name :
       {"process_start_time_seconds", "process_resident_memory_bytes",
        "process_virtual_memory_bytes", "process_threads", "process_open_fds", "process_max_fds"}) {
    EXPECT_THAT(page, HasSubstr(std::string("# TYPE ") + name + " gauge\n" + name + " "));
  }
  EXPECT_THAT(page,
              HasSubstr("# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total "));
}

}  // namespace
}  // namespace winnow
