#include "services/platform/process/periodic_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "tests/support/sync/eventually.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;

TEST(PeriodicThread, StepsAgainAfterThePauseThatAStepAskedFor) {
  std::atomic<int> steps = 0;
  PeriodicThread thread;
  thread.Start([&] { return ++steps < 3 ? milliseconds(1) : milliseconds(std::chrono::hours(1)); });
  EXPECT_TRUE(test::Eventually([&] { return steps == 3; }));
  thread.Stop();  // ends the pause of an hour
  EXPECT_EQ(steps, 3);
}

TEST(PeriodicThread, StopsWithoutHavingStarted) {
  PeriodicThread thread;
  thread.Stop();
  thread.Stop();
}

TEST(PeriodicThread, StopsByItsEnd) {
  std::atomic<bool> stepped = false;
  {
    PeriodicThread thread;
    thread.Start([&] {
      stepped = true;
      return milliseconds(std::chrono::hours(1));
    });
    EXPECT_TRUE(test::Eventually([&] { return stepped.load(); }));
  }
}

}  // namespace
}  // namespace winnow
