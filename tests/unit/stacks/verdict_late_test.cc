// Verdicts on ranks that wait for their data loaders or for a CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verdict_ranks.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Kind = Verdict::Kind;
using std::chrono::seconds;

RankStacks at_loader(std::uint32_t rank) {
  return standing(rank, "a",
                  {python("_MultiProcessingDataLoaderIter._get_data", kLoader, 1282),
                   python("train", "/home/me/job/train.py", 33), kMain},
                  "waiting for descriptors");
}

TEST(Verdict, ADeadDataLoaderIsToldFromOneThatHangs) {
  RankStacks rank = at_loader(1);
  rank.processes.push_back({7, 1001, "python", {{7, "", "Z", "", {}, 1}}});
  Verdict verdict = judge_twice(reply_of({waiting(0, "a"), rank}));
  EXPECT_THAT(verdict.headline,
              HasSubstr("rank 1 on a waits for data loaders that have ended in "
                        "_MultiProcessingDataLoaderIter._get_data (train.py:33)"));
  rank.processes[1].threads[0] = {
      7, "", "S", "opening /mnt/x", {python("__getitem__", "/home/me/job/data.py", 12)}, 1};
  verdict = judge_twice(reply_of({waiting(0, "a"), rank}));
  EXPECT_THAT(verdict.headline,
              HasSubstr("; its data loader, pid 7, is opening /mnt/x in __getitem__ (data.py:12)"));
}

TEST(Verdict, ADataLoaderThatEndedBeforeTheFirstLookIsToldWhereTheOthersAreIdle) {
  RankStacks rank = at_loader(1);
  rank.processes.push_back({7, 1001, "[python3]", {{7, "", "Z", "", {}, 1}}});
  rank.processes.push_back({8, 1001, "/usr/bin/python3 train.py", {{8, "", "S", "", {kMain}, 1}}});
  EXPECT_THAT(judge_twice(reply_of({waiting(0, "a"), rank})).headline,
              HasSubstr("rank 1 on a waits for data loaders that have ended in "));
  RankStacks git = rank;
  git.processes[1].command = "[git]";
  EXPECT_THAT(judge_twice(reply_of({waiting(0, "a"), git})).headline,
              HasSubstr("; its data loader, pid 8, is in <module> (train.py:60)"));
  rank.processes[2].threads[0].frames.insert(
      rank.processes[2].threads[0].frames.begin(),
      {kForward, python("fetch", "/usr/lib/python3/torch/utils/data/_utils/fetch.py", 49)});
  EXPECT_THAT(judge_twice(reply_of({waiting(0, "a"), rank})).headline,
              HasSubstr("; its data loader, pid 8, is in forward (train.py:52)"));
}

TEST(Verdict, AnotherChildThatHasEndedIsNoDeadDataLoader) {
  RankStacks before = at_loader(1);
  before.processes.push_back({7, 1001, "git status", {{7, "", "Z", "", {}, 1}}});
  before.processes.push_back({8, 1001, "python", {{8, "", "R", "", {kForward}, 1}}});
  RankStacks now = before;
  now.processes[2].cpu_ms = 1500;
  EXPECT_EQ(
      judge(reply_of({waiting(0, "a"), before}), reply_of({waiting(0, "a"), now}), seconds(8)).kind,
      Kind::slow);
}

TEST(Verdict, ADataLoaderThatWorksIsSlow) {
  RankStacks before = at_loader(1);
  before.processes.push_back({7, 1001, "python", {{7, "", "R", "", {kForward}, 1}}});
  RankStacks now = before;
  now.processes[1].cpu_ms = 1500;
  const Verdict verdict =
      judge(reply_of({waiting(0, "a"), before}), reply_of({waiting(0, "a"), now}), seconds(60));
  EXPECT_EQ(verdict.kind, Kind::slow);
  EXPECT_EQ(verdict.odd, ranks({1}));
}

/// With 2 s between the looks.
RankStacks without_cpu(RankStacks before) {
  before.processes[0].cpu_ms += 90;
  before.processes[0].waited_ms += 1900;
  return before;
}

TEST(Verdict, ARankThatGetsNoCpuInAWaitIsLateItself) {
  const RankStacks late = waiting(1, "b");
  Verdict verdict = judge(reply_of({waiting(0, "a"), late}),
                          reply_of({waiting(0, "a"), without_cpu(late)}), seconds(8));
  EXPECT_EQ(verdict.kind, Kind::slow);
  EXPECT_EQ(verdict.odd, ranks({1}));
  EXPECT_EQ(
      verdict.headline,
      "nothing printed for 8 s: rank 1 on b is in all_reduce (train.py:41), waiting for a CPU "
      "most of the time; 1 rank waits for it in all_reduce (train.py:41)");
  verdict = judge(reply_of({standing(0, "a", {kForward, kMain}), late}),
                  reply_of({standing(0, "a", {kMain}), without_cpu(late)}), seconds(8));
  EXPECT_EQ(verdict.kind, Kind::working) << "none waits for it";
  EXPECT_THAT(verdict.odd, IsEmpty());
}

TEST(Verdict, ARankThatWorksWithoutCpuIsSlowAndDoesNotHang) {
  RankStacks late = standing(1, "b", {kForward, kMain}, "running");
  thread_of(late).state = "R";
  const Verdict verdict = judge(reply_of({waiting(0, "a"), late}),
                                reply_of({waiting(0, "a"), without_cpu(late)}), seconds(8));
  EXPECT_EQ(verdict.kind, Kind::slow);
  EXPECT_EQ(verdict.odd, ranks({1}));
  EXPECT_EQ(verdict.headline,
            "nothing printed for 8 s: rank 1 on b is in forward (train.py:52), waiting for a CPU "
            "most of the time; 1 rank waits for it in all_reduce (train.py:41)");
  thread_of(late).state = "S";
  EXPECT_EQ(judge(reply_of({waiting(0, "a"), late}), reply_of({waiting(0, "a"), without_cpu(late)}),
                  seconds(8))
                .kind,
            Kind::hang)
      << "another thread of it waits for a CPU";
}

TEST(Verdict, RanksThatSpinOnTooFewCpusStillWait) {
  const RankStacks absent = standing(2, "b", {kForward, kMain});
  const RankStacks one = waiting(0, "a");
  const RankStacks other = waiting(1, "a");
  const Verdict verdict =
      judge(reply_of({one, other, absent}),
            reply_of({without_cpu(one), without_cpu(other), absent}), seconds(8));
  EXPECT_EQ(verdict.kind, Kind::hang);
  EXPECT_EQ(verdict.odd, ranks({2}));
}

}  // namespace
}  // namespace dlaunch
