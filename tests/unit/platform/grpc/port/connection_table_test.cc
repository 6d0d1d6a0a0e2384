#include "services/platform/grpc/port/connection_table.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "services/platform/process/fd.h"

namespace winnow::rpc {
namespace {

using Verdict = ConnectionTable::Verdict;

Fd NewSocket() { return Fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

TEST(ConnectionTable, CountsAllAndThoseOfAnAddress) {
  ConnectionTable table({.total = 3, .per_address = 2});
  const Fd one = NewSocket();
  const Fd two = NewSocket();
  const Fd three = NewSocket();
  table.Add(one.get(), "a", "a:1");
  EXPECT_EQ(table.Check("a"), Verdict::kRoom);
  table.Add(two.get(), "a", "a:2");
  EXPECT_EQ(table.Check("a"), Verdict::kAddressLimit);
  EXPECT_EQ(table.Check("b"), Verdict::kRoom);
  table.Add(three.get(), "b", "b:1");
  EXPECT_EQ(table.Check("c"), Verdict::kTotalLimit);
}

TEST(ConnectionTable, ForgetsWhatWasClosedAlsoWhenItsNumberIsTakenAgain) {
  ConnectionTable table({.total = 10, .per_address = 1});
  Fd socket = NewSocket();
  const int number = socket.get();
  table.Add(number, "a", "a:1");
  table.Sweep();
  EXPECT_EQ(table.Check("a"), Verdict::kAddressLimit);
  socket.Close();
  const Fd other = NewSocket();
  ASSERT_EQ(other.get(), number);  // the lowest that is free
  table.Sweep();
  EXPECT_EQ(table.Check("a"), Verdict::kRoom);
  EXPECT_TRUE(table.entries().empty());
}

TEST(ConnectionTable, CutsTheConnectionAndNeverItsSuccessor) {
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  Fd mine(pair[0]);
  Fd other(pair[1]);
  ConnectionTable table({});
  table.Add(mine.get(), "a", "a:1");
  const ConnectionTable::Entry entry = table.entries().front();
  mine.Close();
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const Fd successor(pair[0]);
  const Fd successors_other(pair[1]);
  ASSERT_EQ(successor.get(), entry.fd);
  ConnectionTable::Cut(entry);
  char byte = 'x';
  EXPECT_EQ(send(successor.get(), &byte, 1, MSG_NOSIGNAL), 1);
  table.Add(successor.get(), "a", "a:2");
  ConnectionTable::Cut(table.entries().back());
  EXPECT_EQ(send(successor.get(), &byte, 1, MSG_NOSIGNAL), -1);
}

}  // namespace
}  // namespace winnow::rpc
