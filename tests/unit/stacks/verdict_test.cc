#include "report/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verdict_ranks.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = Verdict::Kind;
using std::chrono::seconds;

TEST(Verdict, ThePictureToReach) {
  std::vector<RankStacks> all;
  for (std::uint32_t rank = 0; rank < 64; ++rank)
    all.push_back(waiting(rank, "gpu0" + std::to_string(1 + rank / 8)));
  all[37] =
      standing(37, "gpu05", {python("DataLoader.__next__", "/home/me/job/data.py", 88), kMain});
  const Verdict verdict = judge_twice(reply_of(all));
  EXPECT_EQ(verdict.kind, Kind::hang);
  EXPECT_EQ(verdict.odd, ranks({37}));
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: rank 37 on gpu05 is in DataLoader.__next__ (data.py:88); "
            "63 ranks wait for it in all_reduce (train.py:41)");
  EXPECT_THAT(
      verdict.lines,
      ElementsAre("rank 37 (gpu05): is in DataLoader.__next__ (/home/me/job/data.py:88), sleeping",
                  "ranks 0-36, 38-63 (gpu01, gpu02, gpu03 and 5 more): wait in all_reduce "
                  "(/home/me/job/train.py:41)"));
}

TEST(Verdict, AStoppedRankIsTheOneEvenInTheCollective) {
  RankStacks stopped = waiting(1, "b");
  thread_of(stopped).state = "T";
  const Verdict verdict = judge_twice(reply_of({waiting(0, "a"), stopped, waiting(2, "b")}));
  EXPECT_EQ(verdict.odd, ranks({1}));
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: rank 1 on b is stopped by a signal in all_reduce "
            "(train.py:41); 2 ranks wait for it in all_reduce (train.py:41)");
}

TEST(Verdict, ADebuggerIsNamed) {
  RankStacks held = waiting(1, "b");
  thread_of(held).state = "t";
  thread_of(held).doing = "stopped by a debugger: pid 77 (gdb)";
  const Verdict verdict = judge_twice(reply_of({waiting(0, "a"), held}));
  EXPECT_THAT(verdict.headline, HasSubstr("rank 1 on b is stopped by a debugger: pid 77 (gdb) in"));
  EXPECT_THAT(verdict.headline, HasSubstr("; 1 rank waits for it in all_reduce (train.py:41)"));
}

TEST(Verdict, CollectivesThatDifferAreShownOnBothSides) {
  RankStacks other = standing(2, "b", in_collective("broadcast", 44));
  Verdict verdict = judge_twice(reply_of({waiting(0, "a"), waiting(1, "a"), other}));
  EXPECT_EQ(verdict.kind, Kind::hang);
  EXPECT_EQ(verdict.odd, ranks({2}));
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: rank 2 on b waits in broadcast (train.py:44); 2 ranks wait "
            "in all_reduce (train.py:41)");
  verdict = judge_twice(reply_of({waiting(0, "a"), waiting(1, "a"), other,
                                  standing(3, "b", in_collective("all_reduce", 45))}));
  EXPECT_EQ(verdict.odd, ranks({2, 3})) << "another call site is another collective";
}

TEST(Verdict, OfTwoEqualSidesNoneIsGuilty) {
  const Verdict verdict =
      judge_twice(reply_of({waiting(0, "a"), standing(1, "b", in_collective("broadcast", 44))}));
  EXPECT_EQ(verdict.kind, Kind::hang);
  EXPECT_THAT(verdict.odd, IsEmpty());
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: ranks stand in different places: rank 0 on a waits in "
            "all_reduce (train.py:41); rank 1 on b waits in broadcast (train.py:44)");
}

TEST(Verdict, RanksThatWaitForAMessageAreMissingInTheCollectiveOfTheMost) {
  const auto receiving = [](std::uint32_t rank) {
    return standing(rank, "b", in_collective("recv", 30));
  };
  Verdict verdict = judge_twice(
      reply_of({receiving(0), receiving(1), waiting(2, "a"), waiting(3, "a"), waiting(4, "a")}));
  EXPECT_EQ(verdict.odd, ranks({0, 1}));
  EXPECT_EQ(
      verdict.headline,
      "no rank has moved for 8 s: ranks 0, 1 on b wait in recv (train.py:30); 3 ranks wait in "
      "all_reduce (train.py:41)");
  verdict = judge_twice(reply_of({receiving(0), waiting(1, "a")}));
  EXPECT_THAT(verdict.odd, IsEmpty()) << "rank 1 may have left out its send";
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: ranks stand in different places: rank 0 on b waits in recv "
            "(train.py:30); rank 1 on a waits in all_reduce (train.py:41)");
  verdict = judge_twice(reply_of({receiving(0), receiving(1), waiting(2, "a")}));
  EXPECT_THAT(verdict.odd, IsEmpty()) << "rank 2 may owe them a message, or they each other";
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: ranks stand in different places: ranks 0, 1 on b wait in "
            "recv (train.py:30); rank 2 on a waits in all_reduce (train.py:41)");
}

TEST(Verdict, AllInOneCollectiveIsSaidWithoutAGuess) {
  const Verdict verdict = judge_twice(reply_of({waiting(0, "a"), waiting(1, "b")}));
  EXPECT_THAT(verdict.odd, IsEmpty());
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: all 2 ranks wait in all_reduce (train.py:41), and none is "
            "missing there");
}

TEST(Verdict, ARankThatHasEndedIsNamed) {
  RankStacks gone;
  gone.rank = Rank(1);
  gone.host = "b";
  const Verdict verdict = judge_twice(reply_of({waiting(0, "a"), gone}));
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: rank 1 on b has ended; 1 rank waits for it in all_reduce "
            "(train.py:41)");
}

TEST(Verdict, AFileSystemIsNamedWithItsPath) {
  RankStacks blocked =
      standing(1, "b", {python("load", "/home/me/job/data.py", 8), kMain}, "reading /mnt/nfs/x");
  Verdict verdict = judge_twice(reply_of({waiting(0, "a"), blocked}));
  EXPECT_THAT(verdict.headline,
              HasSubstr("rank 1 on b is reading /mnt/nfs/x in load (data.py:8);"));
  thread_of(blocked).state = "D";
  verdict = judge_twice(reply_of({waiting(0, "a"), blocked}));
  EXPECT_THAT(verdict.headline, HasSubstr("rank 1 on b is in an uninterruptible wait: reading "
                                          "/mnt/nfs/x in load (data.py:8);"));
}

TEST(Verdict, ASlowDiskThatStillWritesIsNoHang) {
  RankStacks before =
      standing(0, "a", {python("save", "/home/me/job/train.py", 70), kMain}, "writing /mnt/c.pt");
  thread_of(before).state = "D";
  RankStacks now = before;
  now.processes[0].switches = 12;
  const Verdict verdict =
      judge(reply_of({before, waiting(1, "a")}), reply_of({now, waiting(1, "a")}), seconds(60));
  EXPECT_EQ(verdict.kind, Kind::slow);
  EXPECT_EQ(judge(reply_of({before}), reply_of({now}), seconds(60)).kind, Kind::working);
}

TEST(Verdict, ABusyRankThatOthersWaitForIsSlow) {
  RankStacks before = standing(1, "b", {kForward, kMain}, "");
  thread_of(before).state = "R";
  RankStacks now = before;
  now.processes[0].cpu_ms = 1900;
  const Verdict verdict =
      judge(reply_of({waiting(0, "a"), before}), reply_of({waiting(0, "a"), now}), seconds(60));
  EXPECT_EQ(verdict.kind, Kind::slow);
  EXPECT_EQ(verdict.odd, ranks({1}));
  EXPECT_EQ(verdict.headline,
            "nothing printed for 1 min 00 s: rank 1 on b is busy in forward (train.py:52); 1 rank "
            "waits for it in all_reduce (train.py:41)");
}

TEST(Verdict, RanksThatWorkRaiseNoAlarm) {
  const StacksReply before = reply_of({waiting(0, "a"), standing(1, "b", {kForward, kMain})});
  StacksReply now = before;
  for (RankStacks& rank : now.ranks) rank.processes[0].cpu_ms = 1000;
  Verdict verdict = judge(before, now, seconds(60));
  EXPECT_EQ(verdict.kind, Kind::working) << "a collective that is slow uses the CPU";
  EXPECT_THAT(verdict.odd, IsEmpty());
  now = reply_of({waiting(0, "a"), waiting(1, "b")});
  verdict =
      judge(reply_of({standing(0, "a", {kForward, kMain}), waiting(1, "b")}), now, seconds(60));
  EXPECT_EQ(verdict.kind, Kind::working) << "it has come to the collective";
  EXPECT_THAT(verdict.headline, HasSubstr("nothing printed for 1 min 00 s, but ranks work: "));
}

TEST(Verdict, WhatAWaitDoesInsideIsNoMove) {
  const StacksReply before = reply_of({waiting(0, "a"), waiting(1, "a")});
  StacksReply now = before;
  thread_of(now.ranks[0])
      .frames.insert(thread_of(now.ranks[0]).frames.begin(),
                     python("sleep", "/usr/lib/python3.11/x.py", 1));
  EXPECT_EQ(judge(before, now, seconds(8)).kind, Kind::hang);
}

TEST(Verdict, FramesThatWereReadOnceOnlyAreNoMove) {
  const StacksReply before = reply_of({waiting(0, "a"), standing(1, "a", {kForward, kMain})});
  StacksReply now = before;
  for (RankStacks& rank : now.ranks) thread_of(rank).frames.clear();
  const Verdict verdict = judge(before, now, seconds(8));
  EXPECT_EQ(verdict.kind, Kind::hang);
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: rank 1 on a is in forward (train.py:52); 1 rank waits for "
            "it in all_reduce (train.py:41)");
  EXPECT_EQ(judge(now, before, seconds(8)).kind, Kind::hang);
}

TEST(Verdict, TwoThreadsThatWaitForLocks) {
  RankStacks rank = standing(0, "a", {kForward, kMain}, "waiting for a lock");
  rank.processes[0].threads.push_back(
      {2, "prefetch", "S", "waiting for a lock", {python("load", "/home/me/job/data.py", 9)}, 1});
  const Verdict verdict = judge_twice(reply_of({rank}));
  EXPECT_EQ(
      verdict.headline,
      "rank 0 on a has not moved for 8 s: it has threads that wait for locks: the main thread "
      "in forward (train.py:52), thread prefetch in load (data.py:9)");
}

TEST(Verdict, TheRestIsNamedWhereMostStandTogether) {
  const StackFrame other = python("evaluate", "/home/me/job/train.py", 90);
  const Verdict verdict =
      judge_twice(reply_of({standing(0, "a", {kForward, kMain}), standing(1, "a", {other, kMain}),
                            standing(2, "b", {kForward, kMain})}));
  EXPECT_EQ(verdict.odd, ranks({1}));
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: rank 1 on a is in evaluate (train.py:90); 2 ranks are in "
            "forward (train.py:52)");
}

TEST(Verdict, MpiThatSpinsInACollectiveHasNotMoved) {
  const auto frames = recorded_mpi().at("openmpi-4.1 MPI_Allreduce");
  std::vector<RankStacks> all;
  for (const std::uint32_t rank : {0U, 1U, 2U}) all.push_back(standing(rank, "a", frames, ""));
  all[1].processes[0].threads[0].frames = {
      {StackFrame::Kind::native, "pause", "/usr/lib/x86_64-linux-gnu/libc.so.6", 0},
      {StackFrame::Kind::native, "compute", "/home/me/job/ring.c", 12}};
  StacksReply now = reply_of(all);
  now.ranks[0].processes[0].cpu_ms = now.ranks[2].processes[0].cpu_ms = 2000;
  const Verdict verdict = judge(reply_of(all), now, seconds(8));
  EXPECT_EQ(verdict.kind, Kind::hang);
  EXPECT_EQ(verdict.odd, ranks({1}));
  EXPECT_THAT(verdict.headline, HasSubstr("rank 1 on a is in compute (ring.c:12); 2 ranks wait for "
                                          "it in MPI_Allreduce (ring.c:"));
}

TEST(Verdict, WaitsThatSpinInOnePlaceMayBeMany) {
  const auto frames = recorded_mpi().at("openmpi-4.1 MPI_Allreduce");
  const StacksReply before = reply_of({standing(0, "a", frames, ""), standing(1, "a", frames, "")});
  StacksReply now = before;
  for (RankStacks& rank : now.ranks) rank.processes[0].cpu_ms = 2000;
  const Verdict verdict = judge(before, now, seconds(60));
  EXPECT_EQ(verdict.kind, Kind::unknown);
  EXPECT_THAT(verdict.odd, IsEmpty());
  EXPECT_EQ(verdict.headline,
            "nothing printed for 1 min 00 s: all 2 ranks wait in MPI_Allreduce (ring.c:15), and "
            "none is missing there; one long wait or many short ones");
  EXPECT_EQ(judge(before, before, seconds(60)).kind, Kind::hang) << "they sleep";
  now = before;
  for (RankStacks& rank : now.ranks) rank.processes[0].waited_ms = 1900;
  EXPECT_EQ(judge(before, now, seconds(60)).kind, Kind::unknown) << "they spin on too few CPUs";
}

TEST(Verdict, AWaitForADeviceMayBeMany) {
  std::vector<StackFrame> frames;
  for (const RecordedWait& one : recorded_waits()) {
    if (one.name == "cuda-11.6 cudaStreamSynchronize") frames = one.frames;
  }
  const RankStacks waits = standing(0, "a", frames, "");
  EXPECT_EQ(judge_twice(reply_of({waits, waiting(1, "a")})).kind, Kind::hang) << "two places";
  EXPECT_EQ(judge_twice(reply_of({waits})).kind, Kind::unknown);
  const Verdict verdict = judge_twice(reply_of({waits, standing(1, "a", {kForward, kMain})}));
  EXPECT_EQ(verdict.kind, Kind::hang);
  EXPECT_EQ(verdict.odd, ranks({1}));
}

TEST(Verdict, PythonThatSpinsInACollectiveOfMpiHasNotMoved) {
  std::vector<StackFrame> frames;
  for (const RecordedWait& one : recorded_waits()) {
    if (one.name == "mpi4py-3.1 Allreduce") frames = one.frames;
  }
  RankStacks spins = standing(0, "a", frames, "");
  thread_of(spins).state = "R";
  const RankStacks absent = standing(1, "a", {kForward, kMain});
  StacksReply now = reply_of({spins, absent});
  now.ranks[0].processes[0].cpu_ms = 2000;
  Verdict verdict = judge(reply_of({spins, absent}), now, seconds(8));
  EXPECT_EQ(verdict.kind, Kind::hang);
  EXPECT_EQ(verdict.odd, ranks({1}));
  EXPECT_THAT(verdict.headline, HasSubstr("; 1 rank waits for it in MPI_Allreduce (train.py:9)"));
  std::erase_if(thread_of(spins).frames,
                [](const StackFrame& one) { return one.kind == StackFrame::Kind::native; });
  StacksReply later = reply_of({spins, absent});
  later.ranks[0].processes[0].cpu_ms = 4000;
  EXPECT_EQ(judge(now, later, seconds(8)).kind, Kind::hang);
  verdict = judge(reply_of({spins, absent}), now, seconds(8));
  EXPECT_EQ(verdict.kind, Kind::hang) << "native frames that were read once only are no move";
}

TEST(Verdict, ANodeThatDoesNotAnswerIsSaid) {
  StacksReply reply = reply_of({waiting(0, "a"), waiting(1, "a")});
  reply.world = 4;
  reply.silent = {"b: no answer within 5 s"};
  const Verdict verdict = judge_twice(reply);
  EXPECT_EQ(verdict.kind, Kind::unknown);
  EXPECT_EQ(verdict.odd, ranks({2, 3}));
  EXPECT_EQ(verdict.headline,
            "nothing printed for 8 s, and ranks 2, 3 were not seen: ranks 0, 1 on a wait in "
            "all_reduce (train.py:41)");
  EXPECT_THAT(verdict.lines, testing::Contains("no answer from b: no answer within 5 s"));
  EXPECT_EQ(judge_twice({}).kind, Kind::unknown);
}

const std::vector<NodeOfRanks> kThreeNodes{
    {"a", "10.0.0.1", {Rank(0)}}, {"b", "10.0.0.2", {Rank(1)}}, {"c", "10.0.0.3", {Rank(2)}}};

TEST(Verdict, ANodeThatDoesNotAnswerIsNamedWithItsRanks) {
  StacksReply reply = reply_of({waiting(0, "a"), waiting(1, "b")});
  reply.world = 3;
  reply.silent = {"c: no answer within 7 s"};
  const Verdict verdict = judge(reply, reply, seconds(8), kThreeNodes);
  EXPECT_EQ(verdict.kind, Kind::unknown);
  EXPECT_EQ(verdict.odd, ranks({2}));
  EXPECT_EQ(verdict.headline,
            "nothing printed for 8 s, and no answer from c (rank 2): ranks 0, 1 on a, b wait in "
            "all_reduce (train.py:41)");
}

TEST(Verdict, AHostThatTheOthersDoNotReachIsNamed) {
  StacksReply reply = reply_of({waiting(0, "a"), waiting(1, "b"), waiting(2, "c")});
  reply.ranks[0].unanswered = {"10.0.0.2"};
  reply.ranks[1].unanswered = {"10.0.0.1", "10.0.0.3"};
  const Verdict verdict = judge(reply, reply, seconds(8), kThreeNodes);
  EXPECT_EQ(verdict.kind, Kind::hang);
  EXPECT_EQ(verdict.odd, ranks({1}));
  EXPECT_EQ(verdict.headline,
            "no rank has moved for 8 s: no answer over the network from b to a, c; 3 ranks wait in "
            "all_reduce (train.py:41)");
  EXPECT_THAT(verdict.lines,
              testing::Contains("rank 0 (a): no answer over the network from 10.0.0.2"));
}

TEST(Verdict, OfTwoHostsThatDoNotReachEachOtherNoneIsGuilty) {
  StacksReply reply = reply_of({waiting(0, "a"), waiting(1, "b"), waiting(2, "c")});
  reply.ranks[0].unanswered = {"10.0.0.2"};
  Verdict verdict = judge(reply, reply, seconds(8), kThreeNodes);
  EXPECT_THAT(verdict.odd, IsEmpty());
  EXPECT_THAT(verdict.headline, HasSubstr(": no answer over the network between a and b; 3 ranks"));
  const StacksReply answered = reply_of({waiting(0, "a"), waiting(1, "b"), waiting(2, "c")});
  EXPECT_THAT(judge(reply, answered, seconds(8), kThreeNodes).headline,
              HasSubstr("none is missing"));
  reply.ranks[0].unanswered = {"192.168.7.7"};
  verdict = judge(reply, reply, seconds(8), kThreeNodes);
  EXPECT_THAT(verdict.headline, HasSubstr("between 192.168.7.7 and a; 3 ranks"));
}

TEST(Verdict, WithoutFramesTheCpuAloneIsNoWork) {
  RankStacks rank = standing(0, "a", {}, "");
  rank.remarks = {"no py-spy there"};
  const StacksReply before = reply_of({rank});
  StacksReply now = before;
  now.ranks[0].processes[0].cpu_ms = 2000;
  const Verdict verdict = judge(before, now, seconds(8));
  EXPECT_EQ(verdict.kind, Kind::unknown);
  EXPECT_THAT(verdict.lines, testing::Contains("rank 0 (a): no py-spy there"));
}

TEST(Verdict, AScreenIsEnough) {
  std::vector<RankStacks> all;
  for (std::uint32_t rank = 0; rank < 40; ++rank)
    all.push_back(standing(rank, "a", {python("f", "/home/me/job/train.py", rank), kMain}));
  const Verdict verdict = judge_twice(reply_of(all));
  EXPECT_EQ(verdict.lines.size(), kMostVerdictLines);
  EXPECT_EQ(verdict.lines.back(), "and 30 more; see dlaunch stacks");
}

TEST(Verdict, NothingOfARankReachesTheTerminalAsItIs) {
  const Verdict verdict = judge_twice(reply_of(
      {standing(0, "a", {python("f\x1b[2J", "/home/me/\x1b[1mx.py", 1)}, "reading /\x07")}));
  EXPECT_EQ(verdict.headline.find('\x1b'), std::string::npos);
  for (const std::string& line : verdict.lines) {
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
    EXPECT_EQ(line.find('\x07'), std::string::npos);
  }
}

}  // namespace
}  // namespace dlaunch
