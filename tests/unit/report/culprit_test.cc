// Which rank is to blame, from how ranks ended and what they printed.
#include "report/culprit.h"

#include <gmock/gmock.h>

#include <csignal>

#include "report/summary.h"
#include "summary_fixture.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace testing_support;
using std::chrono::milliseconds;
using How = RankEnd::How;

constexpr const char* kClosed =
    "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:2475";

Evidence said(const std::string& exception) {
  Evidence words;
  words.exception = exception;
  words.last_lines = {exception};
  return words;
}

/// 4 ranks on one node; rank 1 failed first because its peer was gone, the others were stopped.
class Culprit : public testing::Test {
 protected:
  RunReport report_;
  RankEvidence words_;
  LaunchPlan plan_ = make_plan(1, 4);

  void SetUp() override {
    report_.outcome.cause = Cause::exit_code;
    report_.outcome.exit_code = 1;
    report_.outcome.from_rank = true;
    report_.outcome.first = Rank(1);
    report_.ranks.assign(4, make_end(How::stopped, killed_by(SIGTERM), milliseconds(5100)));
    report_.ranks[1] = make_end(How::exited, code(1), milliseconds(5000));
    words_[Rank(1)] = said(kClosed);
    words_[Rank(1)].where =
        "torch/distributed/distributed_c10d.py:1534 in all_reduce, called from train.py:22 in "
        "train";
  }
  void judge() { name_culprit(report_, words_); }
  [[nodiscard]] std::string text() const {
    const auto words = words_.find(*report_.outcome.first);
    return summary_text(SummaryInput{&plan_, report_, kSummaryRun,
                                     words == words_.end() ? Evidence{} : words->second});
  }
};

TEST_F(Culprit, TheErrorOfAnotherRankIsTheCauseAlsoWhereThatWasStopped) {
  words_[Rank(2)] = said("ValueError: loss is nan at step 5");
  judge();
  EXPECT_EQ(report_.outcome.first, Rank(2));
  EXPECT_EQ(report_.outcome.exit_code, 1) << "our signal killed it, so it has no code of its own";
  EXPECT_TRUE(
      text().starts_with("dlaunch: FAILED after 5.1 s: rank 2 on node0 failed, first of 4\n"
                         "\n"
                         "  ValueError: loss is nan at step 5\n"))
      << text();
  EXPECT_THAT(text(), HasSubstr("rank 1 exited with 1: another rank was gone;\n"));
}

TEST_F(Culprit, AndWhereItEndedALittleLaterWithItsOwnCode) {
  words_[Rank(2)] = said("ValueError: loss is nan at step 5");
  report_.ranks[2] = make_end(How::exited, code(3), milliseconds(5003));
  report_.outcome.perhaps_first = {Rank(2)};
  judge();
  EXPECT_EQ(report_.outcome.first, Rank(2));
  EXPECT_THAT(report_.outcome.perhaps_first, IsEmpty());
  EXPECT_EQ(report_.outcome.exit_code, 3);
}

TEST_F(Culprit, OneThatFailedInTheSameMomentWithoutAWord) {
  report_.ranks[2] = make_end(How::exited, code(3), milliseconds(5000));
  report_.outcome.perhaps_first = {Rank(2)};
  judge();
  EXPECT_EQ(report_.outcome.first, Rank(2));
  EXPECT_EQ(report_.outcome.exit_code, 3);
  EXPECT_TRUE(
      text().starts_with("dlaunch: FAILED after 5.0 s: rank 2 on node0 exited with code 3, first"))
      << text();
}

TEST_F(Culprit, OneThatASignalKilledALittleLater) {
  report_.ranks[3] = make_end(How::exited, killed_by(SIGSEGV), milliseconds(5002));
  judge();
  EXPECT_EQ(report_.outcome.first, Rank(3));
  EXPECT_EQ(report_.outcome.cause, Cause::signal);
  EXPECT_EQ(report_.outcome.exit_code, 128 + SIGSEGV);
}

TEST_F(Culprit, OneThatLeftWithCode0Before) {
  report_.ranks[2] = make_end(How::exited, code(0), milliseconds(4990));
  judge();
  EXPECT_EQ(report_.outcome.first, Rank(1));
  EXPECT_THAT(report_.outcome.left_early, ElementsAre(Rank(2)));
  EXPECT_EQ(report_.outcome.exit_code, 1) << "the run has not succeeded";
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 5.0 s: rank 2 on node0 exited with code 0 while others\n"
            "         were still in all_reduce\n"
            "\n"
            "  RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer\n"
            "    [127.0.0.1]:2475\n"
            "    torch/distributed/distributed_c10d.py:1534 in all_reduce, called from\n"
            "    train.py:22 in train\n"
            "\n"
            "  last lines of rank 1\n"
            "    | RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer\n"
            "    | [127.0.0.1]:2475\n"
            "\n"
            "  why     rank 1 exited with code 1, because another rank closed its connection\n"
            "  others  0, 3 were stopped by dlaunch\n"
            "  try     the same number of steps on every rank: each must take part in every\n"
            "          collective\n"
            "  logs    dlaunch logs --rank 1           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(Culprit, OneThatEndedWith0LaterHasNotLeftEarly) {
  report_.ranks[2] = make_end(How::exited, code(0), milliseconds(5010));
  judge();
  EXPECT_THAT(report_.outcome.left_early, IsEmpty());
}

TEST_F(Culprit, AnErrorOfItsOwnGoesBeforeALeaveWithCode0) {
  report_.ranks[0] = make_end(How::exited, code(0), milliseconds(100));
  words_[Rank(2)] = said("ValueError: bad batch");
  judge();
  EXPECT_EQ(report_.outcome.first, Rank(2));
  EXPECT_THAT(report_.outcome.left_early, IsEmpty());
}

TEST_F(Culprit, WhatDlaunchsSignalMadeOfARankIsNoError) {
  words_[Rank(0)] = said("KeyboardInterrupt");
  words_[Rank(2)] = said(
      "torch.distributed.elastic.multiprocessing.api.SignalException: Process "
      "4711 got signal: 15");
  words_[Rank(3)] = said("ImportError: No module named flash_attn");
  words_[Rank(3)].lines_after = 400;  // the rank continued after that error
  judge();
  EXPECT_EQ(report_.outcome.first, Rank(1));
  EXPECT_THAT(
      text(),
      HasSubstr("  why     the error says that another rank closed its connection; for the cause,\n"
                "          see the output of ranks 0, 2, 3\n"));
  EXPECT_TRUE(
      text().starts_with("dlaunch: FAILED after 5.0 s: cause not known; rank 1 on node0 "
                         "exited with code\n         1, having lost another rank\n"))
      << text();
  EXPECT_THAT(text(), HasSubstr("  logs    dlaunch logs --rank 0,2,3 "));
}

TEST_F(Culprit, AnOwnErrorIsTheFirstWhateverOthersSay) {
  words_[Rank(1)] = said("ValueError: bad batch");
  words_[Rank(2)] = said("KeyError: 'x'");
  report_.ranks[3] = make_end(How::exited, code(1), milliseconds(5000));
  report_.outcome.perhaps_first = {Rank(3)};
  words_[Rank(3)] = said(kClosed);
  judge();
  EXPECT_EQ(report_.outcome.first, Rank(1));
  EXPECT_THAT(report_.outcome.perhaps_first, IsEmpty()) << "rank 3 says that it was not the first";
}

TEST_F(Culprit, AllThatFailAlikeAreOneStatement) {
  const std::string error =
      "/usr/bin/python3: can't open file '/data/trian.py': [Errno 2] No such "
      "file or directory";
  report_.outcome.perhaps_first = {Rank(0), Rank(2)};
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    report_.ranks[rank] = make_end(How::exited, code(2), milliseconds(30));
    words_[Rank(rank)] = said(error);
  }
  report_.outcome.exit_code = 2;
  judge();
  EXPECT_THAT(report_.outcome.alike, ElementsAre(Rank(0), Rank(2), Rank(3)));
  EXPECT_TRUE(
      text().starts_with("dlaunch: FAILED after 30 ms: all 4 ranks exited with code 2\n"
                         "\n"
                         "  /usr/bin/python3: can't open file '/data/trian.py'"))
      << text();
  EXPECT_THAT(text(), Not(HasSubstr("others")));
}

TEST_F(Culprit, TheCommonCodeStaysWhereDlaunchsSignalEndedARankThatFailedAlike) {
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    if (rank != 2) report_.ranks[rank] = make_end(How::exited, code(1), milliseconds(5000));
    words_[Rank(rank)] = said("ValueError: bad batch");
  }
  judge();
  EXPECT_TRUE(text().starts_with("dlaunch: FAILED after 5.0 s: all 4 ranks failed (code 1)\n"))
      << text();
}

TEST_F(Culprit, TwoRanksAreBoth) {
  plan_ = make_plan(1, 2);
  report_.ranks.resize(2);
  report_.ranks[0] = report_.ranks[1];
  words_[Rank(0)] = words_[Rank(1)] = said("ValueError: bad batch");
  judge();
  EXPECT_TRUE(text().starts_with("dlaunch: FAILED after 5.0 s: both ranks exited with code 1\n"))
      << text();
}

TEST_F(Culprit, NumbersAloneMakeNoDifference) {
  words_[Rank(1)] = said("RuntimeError: CUDA out of memory. GPU 1 has 2.5 GiB free");
  words_[Rank(0)] = said("RuntimeError: CUDA out of memory. GPU 0 has 12.25 GiB free");
  judge();
  EXPECT_THAT(report_.outcome.alike, ElementsAre(Rank(0)));
  EXPECT_TRUE(text().starts_with(
      "dlaunch: FAILED after 5.0 s: ranks 0, 1 of 4 failed (code 1) in the same way\n"))
      << text();
}

TEST_F(Culprit, WithAnotherCodeItIsNotAlike) {
  words_[Rank(1)] = {};
  report_.ranks[0] = make_end(How::exited, code(2), milliseconds(5000));
  report_.ranks[2] = make_end(How::exited, code(1), milliseconds(5000));
  words_[Rank(0)] = words_[Rank(2)] = {};
  judge();
  EXPECT_THAT(report_.outcome.alike, ElementsAre(Rank(2)));
}

TEST_F(Culprit, OnlyWhatMayMatterIsRead) {
  EXPECT_THAT(other_evidence_needed(report_, words_[Rank(1)]),
              ElementsAre(Rank(0), Rank(2), Rank(3)));
  EXPECT_THAT(other_evidence_needed(report_, {}), IsEmpty()) << "the others were stopped";
  report_.ranks[3] = make_end(How::exited, code(1), milliseconds(5000));
  EXPECT_THAT(other_evidence_needed(report_, {}), ElementsAre(Rank(3)));
  report_.outcome.cause = Cause::time_limit;
  EXPECT_THAT(other_evidence_needed(report_, words_[Rank(1)]), IsEmpty());
}

TEST(CollectiveOf, IsTheInnermostFunctionInALibraryOfCollectives) {
  Evidence words;
  EXPECT_EQ(collective_of(words), "");
  words.where = "train.py:12 in all_reduce";
  EXPECT_EQ(collective_of(words), "");
  words.where = "torch/distributed/distributed_c10d.py:4181 in barrier, called from x.py:2 in main";
  EXPECT_EQ(collective_of(words), "barrier");
}

}  // namespace
}  // namespace dlaunch
