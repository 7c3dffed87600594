// Ranks whose process starts several workers and only supervises them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/verdict.h"
#include "stack_builder.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using Kind = Verdict::Kind;
using Frames = std::vector<StackFrame>;

const std::string kTorch = "/usr/lib/python3/dist-packages/torch/distributed/";
const StackFrame kMain = python("<module>", "/home/me/train.py", 60);
const Frames kInAllReduce{python("all_reduce", kTorch + "distributed_c10d.py", 1541),
                          python("step", "/home/me/train.py", 41), kMain};
const Frames kElsewhere{python("load", "/home/me/data.py", 88), kMain};

/// torchrun, which looks at its workers again and again, with these as its workers.
RankStacks torchrun(std::uint32_t rank, const std::string& host,
                    const std::vector<Frames>& workers) {
  RankStacks stacks =
      standing(rank, host, {python("_invoke_run", kTorch + "elastic/agent/server/api.py", 870)});
  const std::int32_t agent = stacks.processes.front().pid;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const auto pid = static_cast<std::int32_t>(100 * rank + i + 1);
    stacks.processes.push_back({pid,
                                agent,
                                "python train.py --local-rank=" + std::to_string(i),
                                {{pid, "", "S", "sleeping", workers[i], 1}}});
  }
  return stacks;
}

Verdict judge_twice(const std::vector<RankStacks>& ranks) {
  StacksReply reply;
  reply.world = static_cast<std::uint32_t>(ranks.size());
  reply.ranks = ranks;
  return judge(reply, reply, std::chrono::seconds(8));
}

TEST(VerdictOnWorkers, TheOddWorkerIsNamedWithItsRank) {
  const auto& in = kInAllReduce;
  const Verdict verdict =
      judge_twice({torchrun(0, "a", {in, in}), torchrun(1, "b", {in, kElsewhere})});
  EXPECT_EQ(verdict.kind, Kind::hang);
  EXPECT_THAT(verdict.odd, ElementsAre(Rank(1)));
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: worker pid 102 of rank 1 on b is in load (data.py:88); "
            "3 workers wait for it in all_reduce (train.py:41)");
  EXPECT_THAT(
      verdict.lines,
      ElementsAre("worker pid 102 of rank 1 (b): is in load (/home/me/data.py:88), sleeping",
                  "worker pid 101 of rank 1 (b): waits in all_reduce (/home/me/train.py:41)",
                  "2 workers of rank 0 (a): wait in all_reduce (/home/me/train.py:41)"));
}

TEST(VerdictOnWorkers, ARankWithSeveralOddWorkersIsNamedOnce) {
  const Verdict verdict =
      judge_twice({torchrun(0, "a", {kElsewhere, kElsewhere, kInAllReduce, kInAllReduce})});
  EXPECT_THAT(verdict.odd, ElementsAre(Rank(0)));
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: 2 workers of rank 0 on a are in load (data.py:88); "
            "2 workers wait for them in all_reduce (train.py:41)");
}

TEST(VerdictOnWorkers, WorkersThatWorkAreNoHang) {
  StacksReply first;
  first.world = 1;
  first.ranks = {torchrun(0, "a", {kInAllReduce, kElsewhere})};
  StacksReply second = first;
  second.ranks[0].processes[2].cpu_ms += 5000;
  const Verdict verdict = judge(first, second, std::chrono::seconds(8));
  EXPECT_EQ(verdict.kind, Kind::slow);
  EXPECT_EQ(verdict.headline,
            "nothing printed for 8 s: worker pid 2 of rank 0 on a is busy in load (data.py:88); "
            "1 worker waits for it in all_reduce (train.py:41)");
}

TEST(VerdictOnWorkers, ProcessesWithAnotherCommandAreNoWorkers) {
  RankStacks rank = torchrun(0, "a", {kInAllReduce, kInAllReduce});
  rank.processes.push_back({9,
                            rank.processes[0].pid,
                            "python -c 'resource_tracker'",
                            {{9, "", "S", "", kElsewhere, 1}}});
  EXPECT_EQ(judge_twice({rank}).headline,
            "no rank has moved for 8 s: all 2 live workers wait in all_reduce (train.py:41)")
      << "whether one has ended and is missing there is unknown";
}

TEST(VerdictOnWorkers, AWorkerThatHasEndedUnreapedIsNamed) {
  RankStacks rank = torchrun(0, "a", {kInAllReduce, kInAllReduce, {}});
  rank.processes[3].command = "[python]";
  rank.processes[3].threads[0].state = "Z";
  EXPECT_EQ(judge_twice({rank}).headline,
            "no rank has moved for 8 s: worker pid 3 of rank 0 on a has ended; 2 workers wait for "
            "it in all_reduce (train.py:41)");
  rank.processes[3].command = "[git]";
  EXPECT_EQ(judge_twice({rank}).headline,
            "no rank has moved for 8 s: all 2 live workers wait in all_reduce (train.py:41)");
}

TEST(VerdictOnWorkers, WorkersAndRanksTogetherAreProcesses) {
  const RankStacks workers = torchrun(0, "a", {kInAllReduce, kInAllReduce});
  const RankStacks waits = standing(1, "b", kInAllReduce);
  const Verdict verdict = judge_twice({workers, waits, standing(2, "c", kElsewhere)});
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: rank 2 on c is in load (data.py:88); 3 processes wait for "
            "it in all_reduce (train.py:41)");
  EXPECT_THAT(verdict.lines, ElementsAre("rank 2 (c): is in load (/home/me/data.py:88), sleeping",
                                         "3 processes of ranks 0, 1 (a, b): wait in all_reduce "
                                         "(/home/me/train.py:41)"));
  EXPECT_EQ(judge_twice({workers, waits}).headline,
            "no rank has moved for 8 s: all 3 live processes wait in all_reduce (train.py:41)");
}

TEST(VerdictOnWorkers, ARankInItsOwnCodeIsJudgedBesideItsWorkers) {
  RankStacks absent = standing(0, "a", kElsewhere);
  absent.processes.push_back(
      {5, absent.processes[0].pid, "python save.py", {{5, "", "S", "", kInAllReduce, 1}}});
  const Verdict verdict = judge_twice({absent, standing(1, "b", kInAllReduce)});
  EXPECT_THAT(verdict.odd, ElementsAre(Rank(0)));
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: rank 0 on a is in load (data.py:88); 2 processes wait for "
            "it in all_reduce (train.py:41)");
  absent.processes.push_back({6, absent.processes[0].pid, "[python]", {{6, "", "Z", "", {}, 1}}});
  EXPECT_EQ(judge_twice({absent, standing(1, "b", kInAllReduce)}).headline, verdict.headline)
      << "it may be anything that the rank has started";
}

TEST(VerdictOnWorkers, WhatWorkersDoIsNotTheirRanksOwnWork) {
  StacksReply first;
  first.world = 1;
  first.ranks = {torchrun(0, "a", {kInAllReduce, kElsewhere})};
  first.ranks[0].processes[0].threads[0].frames = kElsewhere;
  StacksReply second = first;
  second.ranks[0].processes[2].cpu_ms += 5000;
  const Verdict verdict = judge(first, second, std::chrono::seconds(8));
  EXPECT_THAT(verdict.lines,
              testing::Contains("rank 0 (a): is in load (/home/me/data.py:88), sleeping"));
}

TEST(VerdictOnWorkers, ARankThatWaitsItselfOrWhoseChildrenDoNotIsJudgedByItself) {
  RankStacks waits = torchrun(0, "a", {kInAllReduce});
  waits.processes[0].threads[0].frames = kInAllReduce;
  const RankStacks has_loader = torchrun(1, "b", {kElsewhere});
  EXPECT_EQ(judge_twice({waits, has_loader}).headline,
            "no rank has moved for 8 s: rank 1 on b is sleeping; 1 rank waits for it in all_reduce "
            "(train.py:41)");
  RankStacks stopped = torchrun(0, "a", {kInAllReduce, kInAllReduce});
  stopped.processes[0].threads[0].state = "T";
  EXPECT_EQ(judge_twice({stopped}).headline,
            "rank 0 on a has not moved for 8 s: it is stopped by a signal");
}

}  // namespace
}  // namespace dlaunch
