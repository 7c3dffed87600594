#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>

#include "report/summary.h"
#include "report_builder.h"
#include "summary_fixture.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace testing_support;
using std::chrono::milliseconds;
using std::chrono::seconds;
using How = RankEnd::How;

TEST_F(SummaryText, StartLine) {
  EXPECT_EQ(start_line(plan_),
            "dlaunch: cifar-ddp, 8 ranks on 2 nodes (pytorch), run 20261120-210142-k3f\n");
  LaunchPlan one = make_plan(1, 1);
  one.framework = Framework::none;
  EXPECT_EQ(start_line(one), "dlaunch: cifar-ddp, 1 rank on 1 node, run 20261120-210142-k3f\n");
}

TEST_F(SummaryText, Success) {
  all_ended_well();
  EXPECT_EQ(text(), "dlaunch: done in 3 min 12 s, 8 ranks ok, logs in runs/20261120-210142-k3f\n");
}

TEST_F(SummaryText, SuccessWithLeftovers) {
  all_ended_well();
  report_.leftovers = 2;
  EXPECT_EQ(text(),
            "dlaunch: done in 3 min 12 s, 8 ranks ok, 2 leftover processes killed,\n"
            "         logs in runs/20261120-210142-k3f\n");
}

TEST_F(SummaryText, SuccessOfTheChiefAlone) {
  all_ended_well();
  for (std::size_t i = 1; i < 8; ++i) {
    report_.ranks[i] = make_end(How::stopped, killed_by(SIGTERM), seconds(192));
  }
  report_.attempt = Attempt(1);
  EXPECT_EQ(text(),
            "dlaunch: done in 3 min 12 s, 1 rank ok, 7 stopped after 1 restart,\n"
            "         logs in runs/20261120-210142-k3f\n");
}

FailedAttempt earlier(std::uint32_t number, ExitStatus status, seconds ran) {
  FailedAttempt attempt;
  attempt.attempt = Attempt(number);
  attempt.outcome.first = Rank(5);
  attempt.end = make_end(How::exited, status, ran);
  attempt.ran = ran;
  return attempt;
}

TEST_F(SummaryText, SuccessAfterRestarts) {
  all_ended_well();
  report_.earlier = {earlier(0, code(1), seconds(12)), earlier(1, killed_by(SIGSEGV), seconds(3))};
  report_.attempt = Attempt(2);
  EXPECT_EQ(text(),
            "dlaunch: attempt 0: rank 5 exited with code 1 after 12.0 s\n"
            "dlaunch: attempt 1: rank 5 was killed by SIGSEGV after 3.0 s\n"
            "dlaunch: done in 3 min 12 s, 8 ranks ok after 2 restarts,\n"
            "         logs in runs/20261120-210142-k3f\n");
}

TEST_F(SummaryText, FailureAfterManyRestarts) {
  for (std::uint32_t i = 0; i < 8; ++i) report_.earlier.push_back(earlier(i, code(1), seconds(i)));
  report_.attempt = Attempt(8);
  const std::string seen = text();
  EXPECT_NE(seen.find(", first of 8,\n         after 8 restarts\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("  earlier the first 4 attempts: see summary.json\n"
                      "          attempt 4: rank 5 exited with code 1 after 4.0 s\n"),
            std::string::npos)
      << seen;
  EXPECT_NE(
      seen.find("          attempt 7: rank 5 exited with code 1 after 7.0 s\n"
                "  logs    dlaunch logs --rank 5           runs/20261120-210142-k3f/attempt-8/\n"),
      std::string::npos)
      << seen;
}

// The port, its node, its holder, what to do.
TEST_F(SummaryText, AChosenPortThatWasTaken) {
  report_.outcome.cause = Cause::port_taken;
  report_.outcome.port = TakenPort{29500, "pid 8812 (python train.py, user eve)"};
  const std::string seen = text();
  EXPECT_TRUE(seen.starts_with(
      "dlaunch: FAILED after 12.4 s: port 29500 on node1 was taken by pid 8812 (python\n"
      "         train.py, user eve); rank 5 on node1 exited with code 1, first of 8\n"))
      << seen;
  EXPECT_NE(seen.find("  try     rendezvous.port: auto (--set rendezvous.port=auto)\n"),
            std::string::npos)
      << seen;
}

TEST_F(SummaryText, Stragglers) {
  report_.outcome.cause = Cause::stragglers;
  report_.outcome.first.reset();
  report_.outcome.stragglers = {Rank(3), Rank(5)};
  report_.outcome.limit = milliseconds(500);
  EXPECT_TRUE(text().starts_with(
      "dlaunch: FAILED after 12.7 s: ranks 3, 5 were still running after others had\n"
      "         succeeded (timeouts.stragglers_after_success: 500 ms)\n"))
      << text();
  // Rank 5 ended before the signal arrived, but does not count as one that had succeeded before.
  report_.ranks[0] = report_.ranks[5] = make_end(How::exited, code(0), seconds(12));
  EXPECT_THAT(text(), HasSubstr("  ranks   1-4, 6, 7 were stopped by dlaunch;\n"
                                "          rank 5 exited with 0 when told to stop;\n"
                                "          rank 0 had succeeded\n"));
}

TEST_F(SummaryText, NodeLost) {
  report_.outcome.cause = Cause::node_lost;
  report_.outcome.detail = "its agent was killed by SIGKILL";
  report_.outcome.lost_nodes = {
      {NodeId(1), report_.outcome.detail, WallTime(seconds(1'800'000'000))}};
  report_.outcome.first.reset();
  for (std::size_t i = 4; i < 8; ++i) {
    report_.ranks[i] = RankEnd{};
    report_.ranks[i].how = How::lost;
  }
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.7 s: node1 was lost: its agent was killed by SIGKILL\n"
            "         (last heard 2027-01-15T08:00:00Z)\n"
            "\n"
            "  ranks   4-7 were lost with node1;\n"
            "          0-3 were stopped by dlaunch\n"
            "  logs    runs/20261120-210142-k3f/attempt-0/\n");
}

/// A run without a plan: its nodes could not be connected.
class NotConnected : public testing::Test {
 protected:
  RunReport report_;
  void SetUp() override {
    report_.outcome.cause = Cause::node_lost;
    report_.outcome.exit_code = 69;
    report_.elapsed = milliseconds(300);
  }
  [[nodiscard]] std::string text() const {
    SummaryInput input{nullptr, report_, kSummaryRun, {}};
    input.node_names = {{NodeId(0), "gpu11"}, {NodeId(1), "gpu12"}, {NodeId(2), "gpu13"}};
    return summary_text(input);
  }
};

TEST_F(NotConnected, OneHost) {
  report_.outcome.lost_nodes = {
      {NodeId(1), "ssh: connect to host gpu12.cluster.example port 22: Connection refused"}};
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 300 ms: gpu12: ssh: connect to host gpu12.cluster.example port "
            "22: Connection refused\n"
            "         try: ssh -p 22 gpu12.cluster.example true; connect.port, or Port in "
            "~/.ssh/config\n");
}

TEST_F(NotConnected, OneThatDidNotReturnForARestart) {
  FailedAttempt failed;
  failed.outcome.cause = Cause::node_lost;
  failed.outcome.lost_nodes = {{NodeId(1), "no sign of life for 15 s"}};
  failed.ran = seconds(12);
  report_.earlier = {failed};
  report_.attempt = Attempt(1);
  report_.outcome.lost_nodes = {{NodeId(1),
                                 "lost (no sign of life for 15 s), and it did not answer again",
                                 WallTime(seconds(1'800'000'000))}};
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 300 ms: gpu12: lost (no sign of life for 15 s), and it did not "
            "answer again (last heard 2027-01-15T08:00:00Z)\n"
            "  earlier attempt 0: gpu12 was lost after 12.0 s\n"
            "  try     bring it back, or leave it out of the hosts, then run the job again\n"
            "  logs    runs/20261120-210142-k3f/\n");
}

TEST_F(NotConnected, SeveralHostsHaveALineEach) {
  report_.outcome.lost_nodes = {{NodeId(0), "ssh: me@gpu11: Permission denied (publickey)."},
                                {NodeId(2), "no answer within 30 s\x1b[2J"}};
  EXPECT_EQ(
      text(),
      "dlaunch: FAILED after 300 ms: 2 of 3 nodes cannot be used\n"
      "         gpu11: ssh: me@gpu11: Permission denied (publickey).\n"
      "         gpu13: no answer within 30 s\n"
      "         try: ssh-add -l; connect.user, connect.identity_file; authorized_keys on gpu11\n");
}

TEST_F(NotConnected, EachKindOfTroubleHasItsAdviceOnce) {
  constexpr const char* kDenied = "ssh: me@gpu11: Permission denied (publickey,password).";
  report_.outcome.lost_nodes = {{NodeId(0), kDenied},
                                {NodeId(1), kDenied},
                                {NodeId(2),
                                 "ssh: Could not resolve hostname gpu13: Name or "
                                 "service not known"}};
  EXPECT_THAT(text(),
              testing::EndsWith(
                  "not known\n"
                  "         try: ssh-add -l; connect.user, connect.identity_file; authorized_keys "
                  "on gpu11\n"
                  "         try: correct the name in the host list, or add HostName to "
                  "~/.ssh/config\n"));
}

TEST_F(SummaryText, TimeLimit) {
  report_.outcome.cause = Cause::time_limit;
  report_.outcome.first.reset();
  report_.ranks[5] = report_.ranks[0];
  report_.elapsed = std::chrono::minutes(60);
  report_.outcome.limit = std::chrono::hours(1);
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 1 h 00 min: reached the time limit of 1 h (timeouts.run)\n"
            "\n"
            "  ranks   0-7 were stopped by dlaunch\n"
            "  logs    runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(SummaryText, Cancelled) {
  report_.outcome.cause = Cause::cancelled;
  report_.outcome.first.reset();
  report_.ranks[5] = report_.ranks[0];
  report_.outcome.signal = SIGINT;
  EXPECT_EQ(text(),
            "dlaunch: stopped by Ctrl-C after 12.7 s, 8 ranks stopped,\n"
            "         logs in runs/20261120-210142-k3f\n");
  report_.outcome.signal = SIGTERM;
  report_.ranks[0].how = How::killed;
  EXPECT_EQ(text(),
            "dlaunch: stopped by SIGTERM after 12.7 s, 7 ranks stopped, 1 killed,\n"
            "         logs in runs/20261120-210142-k3f\n");
  report_.outcome.signal = SIGHUP;
  EXPECT_TRUE(text().starts_with("dlaunch: stopped by SIGHUP after 12.7 s, "));
  report_.outcome.signal = 0;
  EXPECT_TRUE(text().starts_with(
      "dlaunch: stopped because the process that started it is gone, after 12.7 s, "));
}

TEST_F(SummaryText, CancelledBySlurmForAReasonThatItTells) {
  report_.outcome.cause = Cause::cancelled;
  report_.outcome.first.reset();
  report_.ranks[5] = report_.ranks[0];
  report_.outcome.signal = SIGTERM;
  SummaryInput input{&plan_, report_, "runs/x", evidence_};
  input.slurm = {"17", "Slurm is preempting job 17 for another job", std::nullopt};
  EXPECT_EQ(summary_text(input),
            "dlaunch: stopped by SIGTERM after 12.7 s (Slurm is preempting job 17 for another\n"
            "         job), 8 ranks stopped, logs in runs/x\n");
}

TEST_F(SummaryText, CancelledWhileWaitingForARestart) {
  report_.outcome.cause = Cause::cancelled;
  report_.outcome.first.reset();
  report_.outcome.signal = SIGINT;
  report_.elapsed = milliseconds(13'500);
  report_.earlier = {earlier(0, code(7), seconds(12))};
  report_.earlier[0].restart = 1;
  report_.earlier[0].restarts_max = 3;
  EXPECT_EQ(text(),
            "dlaunch: attempt 0: rank 5 exited with code 7 after 12.0 s\n"
            "dlaunch: stopped by Ctrl-C after 13.5 s while waiting for restart 1 of 3,\n"
            "         logs in runs/20261120-210142-k3f\n");
  // The next attempt has begun, and waits for a lost node.
  report_.attempt = Attempt(1);
  report_.ranks.clear();
  EXPECT_EQ(text(),
            "dlaunch: attempt 0: rank 5 exited with code 7 after 12.0 s\n"
            "dlaunch: stopped by Ctrl-C after 13.5 s while waiting for restart 1 of 3,\n"
            "         logs in runs/20261120-210142-k3f\n");
}

// `dlaunch logs` finds the newest run in runs/ by itself, and no other.
TEST_F(SummaryText, TheCommandForLogsElsewhereNamesTheRun) {
  EXPECT_THAT(summary_text(SummaryInput{&plan_, report_, "/data/my runs/k3f", evidence_}),
              HasSubstr("  logs    dlaunch logs '/data/my runs/k3f' --rank 5\n"
                        "          /data/my runs/k3f/attempt-0/\n"));
}

TEST_F(SummaryText, QuotedLinesFitTheScreen) {
  evidence_.exception = "ValueError: x";
  evidence_.last_lines = {std::string(100, 'x')};
  EXPECT_THAT(text(), HasSubstr("\n    | " + std::string(71, 'x') + "...\n"));
}

TEST_F(SummaryText, WithoutAnExceptionEveryQuotedLineIsWhole) {
  const std::string path = "/data/" + std::string(90, 'p') + "/shard-00003.bin";
  evidence_.last_lines = {"error: cannot open " + path + " for reading"};
  EXPECT_THAT(text(),
              HasSubstr("\n    | error: cannot open\n    | " + path + "\n    | for reading\n"));
  evidence_.last_lines.assign(10, "a " + std::string(75, 'x') + ' ' + std::string(75, 'y'));
  const std::string seen = text();
  EXPECT_LE(std::count(seen.begin(), seen.end(), '\n'), 24) << "earlier lines give way";
}

TEST_F(SummaryText, NoPlan) {
  report_ = RunReport{};
  report_.outcome.cause = Cause::plan;
  report_.outcome.exit_code = exit_code::kUsage;
  report_.outcome.detail =
      "port 29500 on node0 is taken by pid 8812 (python train.py, user eve)\n         try auto";
  EXPECT_EQ(summary_text(SummaryInput{nullptr, report_, kSummaryRun, {}}),
            "dlaunch: port 29500 on node0 is taken by pid 8812 (python train.py, user eve)\n"
            "         try auto\n");
}

TEST_F(SummaryText, InternalErrorWithoutPlan) {
  report_ = RunReport{};
  report_.outcome.cause = Cause::internal;
  report_.outcome.detail = "the engine ended with code 3";
  EXPECT_EQ(summary_text(SummaryInput{nullptr, report_, kSummaryRun, {}}),
            "dlaunch: FAILED after 0 s: internal error: the engine ended with code 3\n"
            "\n"
            "  logs    runs/20261120-210142-k3f/\n");
}

TEST_F(SummaryText, WithoutAPlanNoHostIsInvented) {
  EXPECT_TRUE(
      summary_text(SummaryInput{nullptr, report_, "", {}})
          .starts_with("dlaunch: FAILED after 12.4 s: rank 5 exited with code 1, first of 8\n"));
}

// "A thousand ranks still fit a screen": 24 lines, whatever happened to them.
TEST_F(SummaryText, AThousandRanksFitAScreen) {
  plan_ = make_plan(125, 8);
  report_.ranks.clear();
  for (int i = 0; i < 1000; ++i) {
    const auto how = static_cast<How>(i * 7 % 6);
    const ExitStatus status = i % 11 == 0 ? killed_by(1 + i % 31) : code(1 + i % 200);
    report_.ranks.push_back(make_end(how, status, milliseconds(12'400 + i)));
  }
  report_.ranks[5] = make_end(How::exited, code(1), milliseconds(12'400));
  report_.leftovers = 12;
  evidence_.exception = "RuntimeError: x";
  evidence_.where = "train.py:1";
  for (int i = 0; i < 40; ++i) evidence_.last_lines.push_back("line " + std::to_string(i));
  const std::string screen = text();
  EXPECT_LE(std::count(screen.begin(), screen.end(), '\n'), 24) << screen;
  for (std::size_t at = 0; at < screen.size();) {
    const std::size_t end = screen.find('\n', at);
    EXPECT_LE(end - at, 80U) << screen.substr(at, end - at);
    at = end + 1;
  }
}

TEST_F(SummaryText, LinesAreAsWideAsTheScreen) {
  evidence_.exception = "RuntimeError: " + std::string(60, 'a') + ' ' + std::string(60, 'b');
  evidence_.last_lines = {std::string(300, 'x'), *evidence_.exception};
  SummaryInput input{&plan_, report_, kSummaryRun, evidence_};
  input.columns = 150;
  EXPECT_THAT(summary_text(input), HasSubstr("\n  " + *evidence_.exception + '\n'));
  EXPECT_THAT(summary_text(input), HasSubstr("\n    | " + std::string(141, 'x') + "...\n"));
  input.columns = 60;
  EXPECT_THAT(summary_text(input), HasSubstr("\n  RuntimeError:\n    " + std::string(60, 'a') +
                                             "\n    " + std::string(60, 'b') + '\n'))
      << "a word is never broken, and the cause never cut";
  EXPECT_THAT(summary_text(input), HasSubstr("\n    | " + std::string(60, 'b') + '\n'));
}

TEST_F(SummaryText, ATracebackThatIsOnTheScreenIsNotQuotedAgain) {
  evidence_.exception = "ValueError: x";
  evidence_.last_lines = {"Traceback (most recent call last):", "ValueError: x"};
  SummaryInput input{&plan_, report_, kSummaryRun, evidence_};
  EXPECT_THAT(summary_text(input), HasSubstr("last lines of rank 5"));
  input.on_screen = true;
  EXPECT_THAT(summary_text(input), Not(HasSubstr("last lines")));
  EXPECT_THAT(summary_text(input), HasSubstr("\n  ValueError: x\n"));
  input.evidence.exception.reset();
  EXPECT_THAT(summary_text(input), HasSubstr("last lines of rank 5")) << "else nothing tells why";
}

StallSeen hang_of_rank_5() {
  StallSeen seen{Attempt(0), kStart, seconds(60), {}};
  seen.verdict.kind = Verdict::Kind::hang;
  seen.verdict.odd = {Rank(5)};
  seen.verdict.headline = "no rank has moved for 1 min: rank 5 on node1 is in load (data.py:88)";
  seen.verdict.lines = {"the other 7 ranks wait in all_reduce (train.py:41)"};
  return seen;
}

TEST_F(SummaryText, AHangIsToldWithItsVerdict) {
  report_.outcome = {};
  report_.outcome.cause = Cause::hang;
  report_.outcome.exit_code = 124;
  report_.outcome.limit = seconds(60);
  report_.outcome.detail = wording::no_progress(seconds(60));
  report_.ranks[5] = report_.ranks[0];
  SummaryInput input{&plan_, report_, kSummaryRun, {}};
  input.stalls = {hang_of_rank_5()};
  EXPECT_EQ(summary_text(input),
            "dlaunch: FAILED after 12.7 s: no rank made progress for 1 min (timeouts.hang)\n"
            "\n"
            "  stacks  no rank has moved for 1 min: rank 5 on node1 is in load (data.py:88)\n"
            "          the other 7 ranks wait in all_reduce (train.py:41)\n"
            "\n"
            "  ranks   0-7 were stopped by dlaunch\n"
            "  logs    runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(SummaryText, AStallIsToldAtTheEndUnlessTheJobWentOn) {
  SummaryInput input{&plan_, report_, kSummaryRun, {}};
  input.stalls = {hang_of_rank_5()};
  EXPECT_THAT(summary_text(input), HasSubstr("\n  stacks  no rank has moved for 1 min"));
  input.stalls[0].has_resumed = true;
  EXPECT_THAT(summary_text(input), Not(HasSubstr("no rank has moved")));
  input.stalls = {hang_of_rank_5()};
  input.stalls[0].attempt = Attempt(3);
  EXPECT_THAT(summary_text(input), Not(HasSubstr("no rank has moved")));
}

TEST_F(SummaryText, WhatACancelledRunWasWaitingFor) {
  report_.outcome = {};
  report_.outcome.cause = Cause::cancelled;
  report_.outcome.signal = SIGINT;
  SummaryInput input{&plan_, report_, kSummaryRun, {}};
  input.stalls = {hang_of_rank_5()};
  EXPECT_THAT(summary_text(input),
              testing::StartsWith("dlaunch: no rank has moved for 1 min: rank 5 on node1"));
}

TEST_F(SummaryText, AHangBeforeARestart) {
  all_ended_well();
  FailedAttempt attempt;
  attempt.outcome.cause = Cause::hang;
  attempt.outcome.detail = wording::no_progress(seconds(60));
  attempt.ran = seconds(100);
  report_.earlier = {attempt};
  report_.attempt = Attempt(1);
  EXPECT_THAT(text(), testing::StartsWith("dlaunch: attempt 0: no rank made progress for 1 min "
                                          "(timeouts.hang) after 1 min\n         40 s\n"));
}

TEST_F(SummaryText, ColourIsOnlyForFailed) {
  SummaryInput input{&plan_, report_, kSummaryRun, evidence_};
  const std::string plain = summary_text(input);
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  input.colour = true;
  std::string coloured = summary_text(input);
  EXPECT_TRUE(coloured.starts_with("dlaunch: \x1b[1;31mFAILED\x1b[0m after 12.4 s")) << coloured;
  all_ended_well();
  EXPECT_THAT(summary_text(input), Not(HasSubstr("\x1b")));
}

TEST_F(SummaryText, WhatCameFromStdoutIsNamed) {
  evidence_.last_lines = {"step 3"};
  evidence_.of_stdout = true;
  EXPECT_THAT(text(), HasSubstr("  last lines of rank 5 (stdout)\n    | step 3\n"));
}

TEST_F(SummaryText, NotesOfARunThatEndedWell) {
  all_ended_well();
  SummaryInput input{&plan_, report_, kSummaryRun, {}};
  input.notes = {"rank 0 printed \"loss: nan\""};
  EXPECT_TRUE(summary_text(input).starts_with(
      "dlaunch: note: rank 0 printed \"loss: nan\"\ndlaunch: done in 3 min 12 s"));
}

// An attacker on a node may have chosen a name, a path or a reason.
TEST_F(SummaryText, NothingThatATerminalObeysPasses) {
  const std::string bad = "x\x1b]0;t\a\x1b[2J\r\x9b\xc2\x9b\n";
  plan_.nodes[1].name = bad;
  report_.ranks[5].status.out_of_memory = bad;
  report_.outcome.cause = Cause::out_of_memory;
  evidence_.exception = bad;
  evidence_.last_lines = {bad};
  for (const char c : text()) EXPECT_TRUE(c == '\n' || (c & 0xE0) != 0) << text();
  EXPECT_THAT(text(), Not(HasSubstr("\xc2\x9b")));
  report_.ranks[5].status.out_of_memory = std::string(10'000'000, 'x');
  EXPECT_LT(text().size(), 20'000U);
}

}  // namespace
}  // namespace dlaunch
