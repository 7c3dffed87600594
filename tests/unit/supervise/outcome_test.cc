#include "supervise/outcome.h"

#include <chrono>
#include <csignal>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::milliseconds;
using How = RankEnd::How;

WallTime ms(int value) {
  return WallTime(std::chrono::seconds(1'800'000'000)) + milliseconds(value);
}

RankFailure failure(std::uint32_t rank, std::uint32_t node, int at, int clock_error = 0) {
  return {Rank{rank}, NodeId{node}, ms(at), milliseconds(clock_error)};
}

std::vector<Rank> ranks(std::initializer_list<std::uint32_t> values) {
  std::vector<Rank> result;
  for (const std::uint32_t v : values) result.emplace_back(v);
  return result;
}

TEST(FailureOrder, NoFailureNoFirst) {
  EXPECT_EQ(FailureOrder().first(), std::nullopt);
}

TEST(FailureOrder, EarliestTimeDecidesNotArrival) {
  FailureOrder order;
  order.add(failure(5, 1, 20));
  order.add(failure(9, 0, 10));
  order.add(failure(2, 2, 15));
  EXPECT_EQ(order.first(), (FirstFailure{Rank{9}, {}}));
}

// Design 7: "within the error it says cannot tell"; equal times on one node mean that the agent saw
// both at once (event.h, RankExited).
TEST(FailureOrder, EqualTimesAreATieAndTheLowestRankIsNamed) {
  FailureOrder order;
  order.add(failure(7, 0, 10));
  order.add(failure(3, 0, 10));
  order.add(failure(5, 1, 10));
  order.add(failure(1, 1, 11));
  EXPECT_EQ(order.first(), (FirstFailure{Rank{3}, ranks({5, 7})}));
}

TEST(FailureOrder, ClockErrorCountsBetweenNodesNotWithinOne) {
  FailureOrder order;
  order.add(failure(4, 0, 10, 2));
  order.add(failure(0, 0, 11, 2));  // same node, later: certainly not first
  order.add(failure(1, 1, 15, 3));  // exactly the errors apart: undecidable
  order.add(failure(2, 2, 16, 3));
  EXPECT_EQ(order.first(), (FirstFailure{Rank{4}, ranks({1})}));  // it is the more likely one
}

TEST(FailureOrder, OnlyANodeWhoseClockIsKnownBadlyIsInDoubt) {
  FailureOrder order;
  order.add(failure(3, 0, 10));
  order.add(failure(5, 1, 11));
  order.add(failure(7, 2, 500, 1000));
  EXPECT_EQ(order.first(), (FirstFailure{Rank{3}, ranks({7})}));
}

TEST(ReadEnd, WithoutASignalOfOursEveryEndIsTheRanksOwn) {
  EXPECT_EQ(read_end({true, SIGTERM, false}, false, false), How::exited);
  EXPECT_EQ(read_end({true, SIGKILL, false}, false, true), How::exited);
}

TEST(ReadEnd, AfterOurSignalItWasStoppedWhateverTheStatus) {
  EXPECT_EQ(read_end({true, SIGTERM, false}, true, false), How::stopped);
  EXPECT_EQ(read_end({false, 0, false}, true, false), How::stopped);
  EXPECT_EQ(read_end({false, 1, false}, true, false), How::stopped);
  EXPECT_EQ(read_end({true, SIGKILL, false}, true, false), How::stopped);  // not ours
}

TEST(ReadEnd, KilledMeansSigkillAfterKillRanks) {
  EXPECT_EQ(read_end({true, SIGKILL, false}, true, true), How::killed);
  EXPECT_EQ(read_end({false, 0, false}, true, true), How::stopped);
}

// Exit codes of cancelled runs: 128 + n (design 7: 129/130/143 interrupted).
TEST(Outcome, CancelCodes) {
  EXPECT_EQ(ended::by_cancel(SIGHUP).exit_code, 129);
  EXPECT_EQ(ended::by_cancel(SIGINT).exit_code, 130);
  EXPECT_EQ(ended::by_cancel(SIGQUIT).exit_code, 131);
  EXPECT_EQ(ended::by_cancel(SIGTERM).exit_code, 143);
  EXPECT_EQ(ended::by_cancel(0).exit_code, 129);
}

TEST(Outcome, ARanksOwnSignalIsItsCode) {
  RankEnd end;
  end.status = {true, SIGSEGV, true};
  const Outcome outcome = ended::by_rank(Rank{1}, end);
  EXPECT_EQ(outcome.cause, Cause::signal);
  EXPECT_EQ(outcome.exit_code, 139);
  EXPECT_TRUE(outcome.from_rank);
  EXPECT_EQ(outcome.first, Rank{1});
}

TEST(Outcome, LackOfMemoryIsACauseOfItsOwnWithTheSignalsCode) {
  RankEnd end;
  end.status = {true, SIGKILL, false, "cgroup limit 1 GiB"};
  const Outcome outcome = ended::by_rank(Rank{0}, end);
  EXPECT_EQ(outcome.cause, Cause::out_of_memory);
  EXPECT_EQ(outcome.exit_code, 137);
  EXPECT_TRUE(outcome.from_rank);
}

TEST(Outcome, AFailedStartIsOurCode) {
  RankEnd end;
  end.start_failure = StartFailure{StartFailure::Step::execute, ENOENT, "train", ""};
  const Outcome outcome = ended::by_rank(Rank{0}, end);
  EXPECT_EQ(outcome.cause, Cause::cannot_execute);
  EXPECT_EQ(outcome.exit_code, 127);
  EXPECT_FALSE(outcome.from_rank);
}

}  // namespace
}  // namespace dlaunch
