#include "runs/run_ending.h"

#include <gtest/gtest.h>

#include <csignal>

#include "report/summary.h"
#include "unit/report/report_builder.h"

namespace dlaunch {
namespace {

using namespace testing_support;
using std::chrono::milliseconds;
using How = RankEnd::How;

RunEnding read_back(const RunReport& report) {
  const LaunchPlan plan = make_plan(2, 2);
  const auto ending = parse_summary(summary_json(SummaryInput{&plan, report, "runs/x", {}}));
  EXPECT_TRUE(ending);
  return ending.value_or(RunEnding{});
}

TEST(RunEnding, OfARankThatFailed) {
  RunReport report;
  report.outcome.exit_code = 7;
  report.outcome.cause = Cause::exit_code;
  report.outcome.first = Rank(3);
  report.elapsed = milliseconds(12'400);
  report.ranks.assign(4, make_end(How::exited, code(7), milliseconds(1)));
  const RunEnding ending = read_back(report);
  EXPECT_EQ(ending.run, "20261120-210142-k3f");
  EXPECT_EQ(ending.ranks, 4U);
  EXPECT_EQ(ending_text(ending), "failed after 12.4 s: rank 3 on node1 exited with code 7");
  EXPECT_EQ(ending_code(ending), "7, rank 3");
}

TEST(RunEnding, OfARankThatASignalKilled) {
  RunReport report;
  report.outcome.exit_code = 139;
  report.outcome.cause = Cause::signal;
  report.outcome.first = Rank(0);
  report.elapsed = milliseconds(2'000);
  report.ranks.assign(4, make_end(How::exited, killed_by(SIGSEGV), milliseconds(1)));
  EXPECT_EQ(ending_text(read_back(report)),
            "failed after 2.0 s: rank 0 on node0 was killed by SIGSEGV");
}

TEST(RunEnding, OfOneThatWasStopped) {
  RunReport report;
  report.outcome.exit_code = 143;
  report.outcome.cause = Cause::cancelled;
  report.outcome.signal = SIGTERM;
  report.elapsed = milliseconds(2'000);
  EXPECT_EQ(ending_text(read_back(report)), "stopped by SIGTERM after 2.0 s");
  EXPECT_EQ(ending_code(read_back(report)), "143 SIGTERM");
}

TEST(RunEnding, WithWhatIsSaidOfCheckpoints) {
  const LaunchPlan plan = make_plan(2, 2);
  const RunReport report;
  SummaryInput input{&plan, report, "runs/x", {}};
  EXPECT_EQ(parse_summary(summary_json(input))->checkpoint, "");
  CheckpointAccount& account = input.checkpoints[report.attempt];
  input.checkpoint_patterns = {"ckpt/*"};
  const auto none = parse_summary(summary_json(input));
  EXPECT_EQ(none->checkpoint,
            "no checkpoint was written in this attempt; nothing matches ckpt/*");
  EXPECT_FALSE(none->checkpoint_age);
  account.written = 1;
  account.latest = {"ckpt/1", 2000, milliseconds(1500)};
  const auto one = parse_summary(summary_json(input));
  EXPECT_EQ(one->checkpoint, "saved ckpt/1 (2.0 kB) 1.5 s before the end");
  EXPECT_EQ(one->checkpoint_age, milliseconds(1500));
}

TEST(RunEnding, OfOneThatSlurmStopped) {
  const auto ending = parse_summary(
      R"({"exit_code": 143, "cause": "cancelled", "signal": "SIGTERM", "elapsed_s": 2.0,
          "slurm": {"job": "17", "ends": null, "said": "Slurm job 17 has reached its time limit"}})");
  EXPECT_EQ(ending_text(*ending),
            "stopped by SIGTERM after 2.0 s (Slurm job 17 has reached its time limit)");
}

TEST(RunEnding, OfTheOthers) {
  RunReport report;
  report.elapsed = milliseconds(2'000);
  EXPECT_EQ(ending_text(read_back(report)), "done in 2.0 s");
  report.outcome.exit_code = 124;
  report.outcome.cause = Cause::time_limit;
  EXPECT_EQ(ending_code(read_back(report)), "124 limit");
  report.outcome.exit_code = 70;
  report.outcome.cause = Cause::internal;
  report.outcome.detail = "its engine was \x1b[31mkilled\nmore";
  EXPECT_EQ(ending_text(read_back(report)), "failed after 2.0 s: its engine was killed");
}

TEST(RunEnding, DamagedTextIsAnErrorAndNeverACrash) {
  for (const char* text : {"", "{", "[]", "{}", R"({"exit_code": "7"})"})
    EXPECT_FALSE(parse_summary(text)) << text;
  const auto odd =
      parse_summary(R"({"exit_code": 1, "first": 99, "ranks": [7], "elapsed_s": "x", "cause": 3})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(ending_text(*odd), "failed after 0 s: rank 99 failed");
}

TEST(RunEnding, OfARankThatLeftEarly) {
  RunReport report;
  report.outcome.exit_code = 1;
  report.outcome.cause = Cause::exit_code;
  report.outcome.first = Rank(0);
  report.outcome.left_early = {Rank(2), Rank(3)};
  report.elapsed = milliseconds(2'000);
  report.ranks.assign(4, make_end(How::exited, code(1), milliseconds(1)));
  EXPECT_EQ(ending_text(read_back(report)),
            "failed after 2.0 s: ranks 2, 3 left with code 0 before the others");
  EXPECT_EQ(ending_code(read_back(report)), "1, rank 2");
}

}  // namespace
}  // namespace dlaunch
