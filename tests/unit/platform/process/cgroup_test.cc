#include "services/platform/process/cgroup.h"

#include <gtest/gtest.h>

#include <optional>

#include "services/platform/process/machine_limits.h"
#include "tests/unit/platform/config/config_test.h"

namespace winnow {
namespace {

TEST(Cpus, WithoutCgroupThereIsNoQuota) {
  const TempDir dir;
  EXPECT_EQ(CgroupCpus(dir.path()), std::nullopt);
}

TEST(Cpus, Version2TakesTheSmallestQuotaOfAllAncestors) {
  const TempDir dir;
  dir.Write("proc/self/cgroup", "0::/a.slice/b.scope\n");
  dir.Write("sys/fs/cgroup/a.slice/cpu.max", "max 100000\n");
  EXPECT_EQ(CgroupCpus(dir.path()), std::nullopt);
  dir.Write("sys/fs/cgroup/a.slice/b.scope/cpu.max", "350000 100000\n");
  EXPECT_EQ(CgroupCpus(dir.path()), 3.5);
  dir.Write("sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n");
  EXPECT_EQ(CgroupCpus(dir.path()), 1.5);
  dir.Write("sys/fs/cgroup/cpu.max", "20000 100000\n");
  EXPECT_EQ(CgroupCpus(dir.path()), 0.2);
}

TEST(Cpus, InAContainerTheMountIsTheGroup) {
  const TempDir dir;
  dir.Write("proc/self/cgroup", "0::/../../kubepods/pod1\n");
  dir.Write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(CgroupCpus(dir.path()), 2);
}

TEST(Cpus, Version1HasQuotaAndPeriodInFiles) {
  const TempDir dir;
  dir.Write("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/docker/1\n1:name=systemd:/x\n");
  const std::string group = "sys/fs/cgroup/cpu,cpuacct/docker/1/";
  dir.Write(group + "cpu.cfs_period_us", "100000\n");
  dir.Write(group + "cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(CgroupCpus(dir.path()), std::nullopt);
  dir.Write(group + "cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(CgroupCpus(dir.path()), 2.5);
}

TEST(Cpus, NonsenseIsNoQuota) {
  const TempDir dir;
  dir.Write("proc/self/cgroup", "\n::\n0:\nnonsense\n0::/\n");
  dir.Write("sys/fs/cgroup/cpu.max", "many few\n");
  EXPECT_EQ(CgroupCpus(dir.path()), std::nullopt);
  dir.Write("sys/fs/cgroup/cpu.max", "100000 0\n");
  EXPECT_EQ(CgroupCpus(dir.path()), std::nullopt);
  dir.Write("sys/fs/cgroup/cpu.max", "1e300 1\n");
  EXPECT_EQ(CgroupCpus(dir.path()), 1'000'000);
}

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(Memory, Version2TakesTheSmallestLimitOfAllAncestors) {
  const TempDir dir;
  dir.Write("proc/self/cgroup", "0::/pod/container\n");
  dir.Write("sys/fs/cgroup/pod/container/memory.max", "max\n");
  EXPECT_EQ(CgroupMemory(dir.path()), std::nullopt);
  dir.Write("sys/fs/cgroup/pod/container/memory.max", "1073741824\n");
  EXPECT_EQ(CgroupMemory(dir.path()), 1024 * kMiB);
  dir.Write("sys/fs/cgroup/pod/memory.max", "536870912\n");
  EXPECT_EQ(CgroupMemory(dir.path()), 512 * kMiB);
  dir.Write("sys/fs/cgroup/memory.max", "268435456\n");
  EXPECT_EQ(CgroupMemory(dir.path()), 256 * kMiB);
}

TEST(Memory, Version2IsThrottledFromMemoryHigh) {
  const TempDir dir;
  dir.Write("proc/self/cgroup", "0::/\n");
  dir.Write("sys/fs/cgroup/memory.max", "1073741824\n");
  dir.Write("sys/fs/cgroup/memory.high", "805306368\n");
  EXPECT_EQ(CgroupMemory(dir.path()), 768 * kMiB);
}

TEST(Memory, Version1IsTheGroupOrInAContainerTheMount) {
  const TempDir dir;
  dir.Write("proc/self/cgroup", "4:memory:/docker/1\n3:cpu:/docker/1\n0::/\n");
  dir.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(CgroupMemory(dir.path()), std::nullopt);
  dir.Write("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "2147483648\n");
  dir.Write("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "1073741824\n");
  EXPECT_EQ(CgroupMemory(dir.path()), 1024 * kMiB);
  const TempDir container;
  container.Write("proc/self/cgroup", "4:memory:/docker/1\n");
  container.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
  EXPECT_EQ(CgroupMemory(container.path()), 512 * kMiB);
}

TEST(Memory, NonsenseIsNoLimit) {
  const TempDir dir;
  dir.Write("proc/self/cgroup", "0::/\n");
  for (const char* text : {"", "much\n", "-1\n", "0\n", "99999999999999999999999\n"}) {
    dir.Write("sys/fs/cgroup/memory.max", text);
    EXPECT_EQ(CgroupMemory(dir.path()), std::nullopt) << text;
  }
}

TEST(MachineLimits, WithoutACgroupAreTheMachine) {
  const TempDir dir;
  dir.Write("proc/meminfo", "MemTotal:       24684092 kB\nMemFree:        1 kB\n");
  const MachineLimits limits = ReadMachineLimits(dir.path());
  EXPECT_EQ(limits.memory_bytes, int64_t{24'684'092} * 1024);
  EXPECT_FALSE(limits.has_memory_limit);
  EXPECT_FALSE(limits.has_cpu_quota);
  EXPECT_GE(limits.cpus, 1);
}

TEST(MachineLimits, AreTheCgroupsWhereTheyAreSmaller) {
  const TempDir dir;
  dir.Write("proc/meminfo", "MemTotal:       1048576 kB\n");
  dir.Write("proc/self/cgroup", "0::/\n");
  dir.Write("sys/fs/cgroup/memory.max", "2147483648\n");
  dir.Write("sys/fs/cgroup/cpu.max", "50000 100000\n");
  const MachineLimits above = ReadMachineLimits(dir.path());
  EXPECT_EQ(above.memory_bytes, 1024 * kMiB);
  EXPECT_FALSE(above.has_memory_limit);
  EXPECT_EQ(above.cpus, 0.5);
  EXPECT_TRUE(above.has_cpu_quota);
  dir.Write("sys/fs/cgroup/memory.max", "536870912\n");
  const MachineLimits below = ReadMachineLimits(dir.path());
  EXPECT_EQ(below.memory_bytes, 512 * kMiB);
  EXPECT_TRUE(below.has_memory_limit);
}

TEST(MachineLimits, OfAnUnreadableMachineAreUnknown) {
  const TempDir dir;
  EXPECT_EQ(ReadMachineLimits(dir.path()).memory_bytes, 0);
  dir.Write("proc/meminfo", "MemTotal: lots kB\n");
  EXPECT_EQ(ReadMachineLimits(dir.path()).memory_bytes, 0);
  EXPECT_GT(ReadMachineLimits().memory_bytes, 0);
}

}  // namespace
}  // namespace winnow
