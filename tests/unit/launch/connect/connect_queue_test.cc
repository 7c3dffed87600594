#include "launch/connect/connect_queue.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr MonotonicTime kBegin = seconds(777);

std::vector<std::uint32_t> numbers(const std::vector<NodeId>& nodes) {
  std::vector<std::uint32_t> result;
  for (const NodeId node : nodes) result.push_back(node.value);
  return result;
}

using Numbers = std::vector<std::uint32_t>;

void add(ConnectQueue& queue, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) queue.add(NodeId(i), kBegin + seconds(30));
}

TEST(ConnectQueue, SoManyAtOnceInTheirOrder) {
  ConnectQueue queue(2, 1);
  add(queue, 4);
  EXPECT_EQ(numbers(queue.start(kBegin)), (Numbers{0, 1}));
  EXPECT_EQ(numbers(queue.start(kBegin)), Numbers{});
  queue.over(NodeId(1));
  EXPECT_EQ(numbers(queue.start(kBegin)), Numbers{2});
  queue.over(NodeId(0));
  queue.over(NodeId(2));
  EXPECT_EQ(numbers(queue.start(kBegin)), Numbers{3});
  queue.over(NodeId(3));
  EXPECT_EQ(queue.next(), std::nullopt);
  EXPECT_EQ(queue.connecting(), 0U);
}

TEST(ConnectQueue, ARefusedOneGivesItsPlaceAwayAndComesAgain) {
  ConnectQueue queue(1, 1);
  add(queue, 2);
  EXPECT_EQ(numbers(queue.start(kBegin)), Numbers{0});
  queue.refused(NodeId(0), kBegin);
  EXPECT_EQ(numbers(queue.start(kBegin)), Numbers{1});
  queue.over(NodeId(1));
  const MonotonicTime again = *queue.next();
  EXPECT_GE(again, kBegin + milliseconds(100));
  EXPECT_LE(again, kBegin + milliseconds(300));
  EXPECT_EQ(numbers(queue.start(again - std::chrono::nanoseconds(1))), Numbers{});
  EXPECT_EQ(numbers(queue.start(again)), Numbers{0});
}

TEST(ConnectQueue, ThePauseGrowsToALimit) {
  ConnectQueue queue(1, 5);
  queue.add(NodeId(0), kBegin + seconds(3600));
  MonotonicTime now = kBegin;
  MonotonicTime longest{0};
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(numbers(queue.start(now)), Numbers{0});
    queue.refused(NodeId(0), now);
    const MonotonicTime pause = *queue.next() - now;
    longest = std::max(longest, pause);
    EXPECT_LE(pause, milliseconds(4500));
    now = *queue.next();
  }
  EXPECT_GT(longest, seconds(2));
}

TEST(ConnectQueue, ThoseRefusedTogetherDoNotComeTogether) {
  ConnectQueue queue(64, 7);
  add(queue, 64);
  ASSERT_EQ(queue.start(kBegin).size(), 64U);
  for (std::uint32_t i = 0; i < 64; ++i) queue.refused(NodeId(i), kBegin);
  std::size_t most = 0;
  std::size_t all = 0;
  for (MonotonicTime now = kBegin; now < kBegin + milliseconds(400); now += milliseconds(10)) {
    const std::size_t at_once = queue.start(now).size();
    most = std::max(most, at_once);
    all += at_once;
  }
  EXPECT_EQ(all, 64U);
  EXPECT_LE(most, 16U);
}

TEST(ConnectQueue, WhoseTimeIsOverIsTold) {
  ConnectQueue queue(1, 1);
  queue.add(NodeId(3), kBegin + seconds(2));
  queue.add(NodeId(4), kBegin + seconds(1));
  EXPECT_EQ(numbers(queue.start(kBegin)), Numbers{3});
  EXPECT_EQ(queue.next(), kBegin + seconds(1));
  EXPECT_EQ(numbers(queue.expire(kBegin + milliseconds(999))), Numbers{});
  EXPECT_EQ(numbers(queue.expire(kBegin + seconds(1))), Numbers{4});
  EXPECT_EQ(numbers(queue.expire(kBegin + seconds(9))), Numbers{3});
  EXPECT_EQ(queue.connecting(), 0U);
}

TEST(ConnectQueue, MoreTimeForAll) {
  ConnectQueue queue(1, 1);
  queue.add(NodeId(0), kBegin + seconds(1));
  queue.add(NodeId(1), kBegin + seconds(99));
  queue.extend_all(kBegin + seconds(30));
  EXPECT_EQ(numbers(queue.expire(kBegin + seconds(29))), Numbers{});
  EXPECT_EQ(numbers(queue.expire(kBegin + seconds(30))), Numbers{0});
  (void)queue.start(kBegin);
  EXPECT_EQ(queue.next(), kBegin + seconds(99));
}

TEST(ConnectQueue, MoreTimeForOne) {
  ConnectQueue queue(1, 1);
  add(queue, 2);
  queue.extend(NodeId(0), seconds(5));
  queue.extend(NodeId(7), seconds(5));  // it was never added
  EXPECT_EQ(numbers(queue.expire(kBegin + seconds(30))), Numbers{1});
  EXPECT_EQ(numbers(queue.expire(kBegin + seconds(35))), Numbers{0});
}

TEST(ConnectQueue, AddingAgainBeginsAnew) {
  ConnectQueue queue(1, 1);
  add(queue, 1);
  (void)queue.start(kBegin);
  queue.refused(NodeId(0), kBegin);
  queue.add(NodeId(0), kBegin + seconds(5));
  EXPECT_EQ(numbers(queue.start(kBegin)), Numbers{0});
  queue.refused(NodeId(9), kBegin);  // it was never added
  queue.over(NodeId(9));
  EXPECT_EQ(queue.connecting(), 1U);
}

/// Whatever happens, the number of connecting nodes is right, the limit is kept, and all finish.
TEST(ConnectQueue, AnyOrderOfEvents) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::minstd_rand random(seed);
    ConnectQueue queue(1 + seed % 7, seed);
    add(queue, 20);
    std::set<std::uint32_t> away;
    MonotonicTime now = kBegin;
    while (queue.next() && now < kBegin + seconds(60)) {
      for (const NodeId node : queue.expire(now)) away.erase(node.value);
      for (const NodeId node : queue.start(now)) EXPECT_TRUE(away.insert(node.value).second);
      ASSERT_EQ(queue.connecting(), away.size());
      ASSERT_LE(away.size(), 1 + seed % 7);
      if (!away.empty()) {
        const std::uint32_t one = *std::next(away.begin(), random() % away.size());
        away.erase(one);
        if (random() % 3 == 0) {
          queue.over(NodeId(one));
        } else {
          queue.refused(NodeId(one), now);
        }
        now += milliseconds(random() % 50);
      } else if (queue.next()) {
        now = std::max(now, *queue.next());
      }
    }
    EXPECT_EQ(queue.next(), std::nullopt) << seed;
  }
}

}  // namespace
}  // namespace dlaunch
