#include <gtest/gtest.h>

#include <optional>

#include "services/platform/cgroup.h"
#include "tests/unit/config_test.h"

namespace winnow {
namespace {

TEST(Cpus, AreAtLeastOne) { EXPECT_GE(CountCpus(), 1); }

TEST(Cpus, WithoutCgroupThereIsNoQuota) {
  const TempDir dir;
  EXPECT_EQ(CgroupCpus(dir.path()), std::nullopt);
}

TEST(Cpus, Version2TakesTheLeastQuotaOnTheWayRoundedUp) {
  const TempDir dir;
  dir.Write("proc/self/cgroup", "0::/a.slice/b.scope\n");
  dir.Write("sys/fs/cgroup/a.slice/cpu.max", "max 100000\n");
  EXPECT_EQ(CgroupCpus(dir.path()), std::nullopt);
  dir.Write("sys/fs/cgroup/a.slice/b.scope/cpu.max", "350000 100000\n");
  EXPECT_EQ(CgroupCpus(dir.path()), 4);
  dir.Write("sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n");
  EXPECT_EQ(CgroupCpus(dir.path()), 2);
  dir.Write("sys/fs/cgroup/cpu.max", "20000 100000\n");
  EXPECT_EQ(CgroupCpus(dir.path()), 1);
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
  EXPECT_EQ(CgroupCpus(dir.path()), 3);
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

}  // namespace
}  // namespace winnow
