#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>

#include "report/summary.h"
#include "report_builder.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace testing_support;
using std::chrono::milliseconds;
using std::chrono::seconds;
using How = RankEnd::How;

constexpr const char* kRun = "runs/20261120-210142-k3f";

/// 8 ranks on 2 nodes: rank 5 failed after 12.4 s, the others were stopped.
class SummaryText : public testing::Test {
 protected:
  LaunchPlan plan_ = make_plan(2, 4);
  RunReport report_ = failed_run();
  Evidence evidence_;

  static RunReport failed_run() {
    RunReport report;
    report.exit_code = 1;
    report.from_rank = true;
    report.cause = Cause::exit_code;
    report.first = Rank(5);
    report.elapsed = milliseconds(12'700);
    report.ranks.assign(8, make_end(How::stopped, killed_by(SIGTERM), milliseconds(12'600)));
    report.ranks[5] = make_end(How::exited, code(1), milliseconds(12'400));
    return report;
  }
  void all_ended_well() {
    report_ = RunReport{};
    report_.elapsed = seconds(192);
    report_.ranks.assign(8, make_end(How::exited, code(0), seconds(192)));
  }
  [[nodiscard]] std::string text() const {
    return summary_text(SummaryInput{&plan_, report_, kRun, evidence_});
  }
};

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

EarlierAttempt earlier(std::uint32_t number, ExitStatus status, seconds ran) {
  EarlierAttempt attempt;
  attempt.attempt = Attempt(number);
  attempt.first = Rank(5);
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
  EXPECT_NE(seen.find("  earlier 4 attempts before: see summary.json\n"
                      "          attempt 4: rank 5 exited with code 1 after 4.0 s\n"),
            std::string::npos)
      << seen;
  EXPECT_NE(
      seen.find("          attempt 7: rank 5 exited with code 1 after 7.0 s\n"
                "  logs    dlaunch logs --rank 5           runs/20261120-210142-k3f/attempt-8/\n"),
      std::string::npos)
      << seen;
}

// reference/screens.md, Errors: the port, its node, its holder, what to do.
TEST_F(SummaryText, AChosenPortThatWasTaken) {
  report_.cause = Cause::port_taken;
  report_.port = TakenPort{29500, "pid 8812 (python train.py, user eve)"};
  const std::string seen = text();
  EXPECT_TRUE(seen.starts_with(
      "dlaunch: FAILED after 12.4 s: port 29500 on node1 was taken by pid 8812 (python\n"
      "         train.py, user eve); rank 5 on node1 exited with code 1, first of 8\n"))
      << seen;
  EXPECT_NE(seen.find("  try     rendezvous.port: auto\n"), std::string::npos) << seen;
}

TEST_F(SummaryText, Stragglers) {
  report_.cause = Cause::stragglers;
  report_.first.reset();
  report_.stragglers = {Rank(3), Rank(5)};
  report_.limit = milliseconds(500);
  EXPECT_TRUE(text().starts_with(
      "dlaunch: FAILED after 12.7 s: ranks 3, 5 were still running after others had\n"
      "         ended well (timeouts.stragglers_after_success: 500 ms)\n"))
      << text();
  // Rank 5 ended before the signal arrived: it is no rank that had ended well before.
  report_.ranks[0] = report_.ranks[5] = make_end(How::exited, code(0), seconds(12));
  EXPECT_THAT(text(), HasSubstr("  ranks   1-4, 6, 7 were stopped by dlaunch;\n"
                                "          rank 5 ended with 0 when told to stop;\n"
                                "          rank 0 had ended well\n"));
}

TEST_F(SummaryText, Failure) {
  evidence_.exception = "RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB";
  evidence_.where = "train.py:118 in forward";
  evidence_.last_lines = {"  File \"train.py\", line 118, in forward", "    x = self.block(x)",
                          "RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB"};
  report_.ranks[4] = make_end(How::exited, code(1), milliseconds(12'700));
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.4 s: rank 5 on node1 exited with code 1, first of 8\n"
            "\n"
            "  RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB\n"
            "    train.py:118 in forward\n"
            "\n"
            "  last lines of rank 5\n"
            "    |   File \"train.py\", line 118, in forward\n"
            "    |     x = self.block(x)\n"
            "    | RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB\n"
            "\n"
            "  others  rank 4 exited with 1 after 300 ms;\n"
            "          0-3, 6, 7 were stopped by dlaunch\n"
            "  logs    dlaunch logs --rank 5           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(SummaryText, ASingleRankWithoutAWord) {
  plan_ = make_plan(1, 1);
  report_.ranks = {report_.ranks[5]};
  report_.first = Rank(0);
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.4 s: rank 0 on node0 exited with code 1\n"
            "\n"
            "  logs    dlaunch logs --rank 0           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(SummaryText, ASignalIsNamed) {
  report_.cause = Cause::signal;
  report_.ranks[5].status = ExitStatus{true, SIGSEGV, true};
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.4 s: rank 5 on node1 was killed by SIGSEGV (core\n"
            "         dumped), first of 8\n"
            "\n"
            "  others  0-4, 6, 7 were stopped by dlaunch\n"
            "  logs    dlaunch logs --rank 5           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(SummaryText, LackOfMemoryIsToldWithItsEvidence) {
  report_.cause = Cause::out_of_memory;
  report_.ranks[5].status =
      ExitStatus{true, SIGKILL, false, "12.3 GiB anonymous; limit of its cgroup 12 GiB"};
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.4 s: rank 5 on node1 was killed by SIGKILL, first of 8\n"
            "\n"
            "  why     the kernel ended it: out of memory (12.3 GiB anonymous; limit of its\n"
            "          cgroup 12 GiB)\n"
            "  others  0-4, 6, 7 were stopped by dlaunch\n"
            "  logs    dlaunch logs --rank 5           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(SummaryText, ARankThatIsNoneOfMpiIsToldWithTheReason) {
  report_.cause = Cause::mpi;
  report_.exit_code = 65;
  report_.ranks[5].status = ExitStatus{false, 0, false, "", MpiEnd::never_connected};
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.4 s: rank 5 on node1 exited without having called\n"
            "         MPI_Init, first of 8\n"
            "\n"
            "  why     every rank of an MPI job must call MPI_Init and reach dlaunch by it,\n"
            "          over PMIx (Open MPI) or PMI-1 (MPICH, Intel MPI); this one is no MPI\n"
            "          program, or its MPI library has neither, or a container hides PMIx's\n"
            "          server or the descriptor PMI_FD from it, or there is no server (a note\n"
            "          says so)\n"
            "  others  0-4, 6, 7 were stopped by dlaunch\n"
            "  try     mpi.init: optional for programs that only read MPI's variables;\n"
            "          framework: none for others; for other MPI libraries their own mpirun,\n"
            "          with mpi.launcher: mpirun\n"
            "  logs    dlaunch logs --rank 5           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(SummaryText, ARankOfAnotherWorld) {
  report_.cause = Cause::mpi;
  report_.exit_code = 65;
  report_.ranks[5].status = ExitStatus{false, 0, false, "", MpiEnd::other_world, 1};
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.4 s: rank 5 on node1 exited from an MPI world of 1\n"
            "         rank, first of 8\n"
            "\n"
            "  why     the ranks of this job are one world of 8, and the MPI library of this\n"
            "          one has made another: something between dlaunch and the program has\n"
            "          changed or removed what tells it its place (PMI_RANK, PMI_SIZE: env\n"
            "          -i, sudo, a wrapper, a container that does not pass them)\n"
            "  others  0-4, 6, 7 were stopped by dlaunch\n"
            "  try     the program without what stands before it; mpi.init: optional where a\n"
            "          world of its own is meant\n"
            "  logs    dlaunch logs --rank 5           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(SummaryText, ARankThatHasNotMetMpirun) {
  plan_.mpirun = MpirunPlan{"Open MPI 4", {"mpirun"}, {}, ""};
  report_.cause = Cause::mpi;
  report_.exit_code = 65;
  report_.ranks[5].status = ExitStatus{false, 0, false, "", MpiEnd::never_connected};
  EXPECT_THAT(text(), testing::HasSubstr("has not met mpirun\n          (Open MPI 4):"));
  EXPECT_THAT(text(), testing::HasSubstr("  try     the mpirun of the library that the program"));
}

TEST_F(SummaryText, TiesAreNotDecided) {
  report_.first = Rank(3);
  report_.perhaps_first = {Rank(5)};
  report_.ranks[3] = report_.ranks[5];
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.4 s: rank 3 on node0 exited with code 1, cannot tell\n"
            "         which of ranks 3 and 5 was first\n"
            "\n"
            "  others  rank 5 exited with 1 at the same time;\n"
            "          0-2, 4, 6, 7 were stopped by dlaunch\n"
            "  logs    dlaunch logs --rank 3           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(SummaryText, EveryWayToEnd) {
  report_.ranks[0] = make_end(How::exited, code(0), seconds(12));
  report_.ranks[1] = make_end(How::killed, killed_by(SIGKILL), milliseconds(42'400));
  report_.ranks[2] = make_end(How::exited, killed_by(SIGABRT), milliseconds(12'900));
  report_.ranks[3] = make_end(How::exited, killed_by(SIGABRT), milliseconds(12'800));
  report_.ranks[4].how = How::lost;
  report_.ranks[6].how = How::not_started;
  report_.leftovers = 1;
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.4 s: rank 5 on node1 exited with code 1, first of 8\n"
            "\n"
            "  others  ranks 2, 3 were killed by SIGABRT after 400 ms to 500 ms;\n"
            "          rank 1 did not stop and was killed by dlaunch after 30.0 s;\n"
            "          rank 4 was lost with node1;\n"
            "          rank 7 was stopped by dlaunch;\n"
            "          rank 0 had ended well;\n"
            "          rank 6 was not started;\n"
            "          1 leftover process was killed\n"
            "  logs    dlaunch logs --rank 5           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(SummaryText, CannotExecute) {
  report_.cause = Cause::cannot_execute;
  report_.first = Rank(0);
  report_.ranks.assign(8, RankEnd{});
  report_.ranks[0].how = How::cannot_start;
  report_.ranks[0].start_failure = StartFailure{StartFailure::Step::execute, ENOENT, "python3.12",
                                                "/usr/local/bin:/usr/bin:/bin"};
  EXPECT_EQ(text(),
            "dlaunch: rank 0 on node0: cannot execute \"python3.12\": No such file or directory\n"
            "         PATH on node0: /usr/local/bin:/usr/bin:/bin\n");
}

TEST_F(SummaryText, AScriptGivenAsAProgramGetsAdvice) {
  report_.cause = Cause::cannot_execute;
  report_.first = Rank(0);
  report_.ranks.assign(1, RankEnd{});
  report_.ranks[0].how = How::cannot_start;
  using Step = StartFailure::Step;
  report_.ranks[0].start_failure = StartFailure{Step::execute, ENOENT, "train.py", "/bin"};
  EXPECT_THAT(text(), HasSubstr("if it is in the workdir: ./train.py, or python3 train.py\n"));
  report_.ranks[0].start_failure = StartFailure{Step::execute, EACCES, "/data/go.sh", ""};
  EXPECT_THAT(text(), HasSubstr("try: sh /data/go.sh, or chmod +x /data/go.sh\n"));
  report_.ranks[0].start_failure = StartFailure{Step::execute, ENOENT, "/data/train.py", ""};
  EXPECT_THAT(text(), Not(HasSubstr("python3"))) << "the file is not there, whoever reads it";
}

TEST_F(SummaryText, CannotExecuteWhileOthersRan) {
  report_.cause = Cause::cannot_execute;
  RankEnd end;
  end.how = How::cannot_start;
  end.start_failure = StartFailure{StartFailure::Step::execute, EACCES, "/data/train", ""};
  report_.ranks[5] = end;
  EXPECT_EQ(text(),
            "dlaunch: rank 5 on node1: cannot execute \"/data/train\": Permission denied\n"
            "\n"
            "  others  0-4, 6, 7 were stopped by dlaunch\n"
            "  logs    runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(SummaryText, NodeLost) {
  report_.cause = Cause::node_lost;
  report_.lost_node = NodeIndex(1);
  report_.detail = "its agent was killed by SIGKILL";
  report_.lost_nodes = {{NodeIndex(1), report_.detail, WallTime(seconds(1'800'000'000))}};
  report_.first.reset();
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
    report_.cause = Cause::node_lost;
    report_.exit_code = 69;
    report_.elapsed = milliseconds(300);
  }
  [[nodiscard]] std::string text() const {
    SummaryInput input{nullptr, report_, kRun, {}};
    input.node_names = {"gpu11", "gpu12", "gpu13"};
    return summary_text(input);
  }
};

TEST_F(NotConnected, OneHost) {
  report_.lost_nodes = {
      {NodeIndex(1), "ssh: connect to host gpu12.cluster.example port 22: Connection refused"}};
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 300 ms: gpu12: ssh: connect to host gpu12.cluster.example port "
            "22: Connection refused\n");
}

TEST_F(NotConnected, OneThatDidNotReturnForARestart) {
  EarlierAttempt failed;
  failed.cause = Cause::node_lost;
  failed.lost_nodes = {{NodeIndex(1), "no sign of life for 15 s"}};
  failed.ran = seconds(12);
  report_.earlier = {failed};
  report_.attempt = Attempt(1);
  report_.lost_nodes = {{NodeIndex(1),
                         "lost (no sign of life for 15 s), and it did not answer again",
                         WallTime(seconds(1'800'000'000))}};
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 300 ms: gpu12: lost (no sign of life for 15 s), and it did not "
            "answer again (last heard 2027-01-15T08:00:00Z)\n"
            "  earlier attempt 0: gpu12 was lost after 12.0 s\n"
            "  try     bring it back, or leave it out of the hosts, and run it again\n"
            "  logs    runs/20261120-210142-k3f/\n");
}

TEST_F(NotConnected, SeveralHostsHaveALineEach) {
  report_.lost_nodes = {{NodeIndex(0), "ssh: me@gpu11: Permission denied (publickey)."},
                        {NodeIndex(2), "no answer within 30 s\x1b[2J"}};
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 300 ms: 2 of 3 nodes cannot be used\n"
            "         gpu11: ssh: me@gpu11: Permission denied (publickey).\n"
            "         gpu13: no answer within 30 s\n");
}

TEST_F(SummaryText, TimeLimit) {
  report_.cause = Cause::time_limit;
  report_.first.reset();
  report_.ranks[5] = report_.ranks[0];
  report_.elapsed = std::chrono::minutes(60);
  report_.limit = std::chrono::hours(1);
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 1 h 00 min: reached the time limit of 1 h (timeouts.run)\n"
            "\n"
            "  ranks   0-7 were stopped by dlaunch\n"
            "  logs    runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(SummaryText, Cancelled) {
  report_.cause = Cause::cancelled;
  report_.first.reset();
  report_.ranks[5] = report_.ranks[0];
  report_.signal = SIGINT;
  EXPECT_EQ(text(),
            "dlaunch: stopped by Ctrl-C after 12.7 s, 8 ranks stopped,\n"
            "         logs in runs/20261120-210142-k3f\n");
  report_.signal = SIGTERM;
  report_.ranks[0].how = How::killed;
  EXPECT_EQ(text(),
            "dlaunch: stopped by SIGTERM after 12.7 s, 7 ranks stopped, 1 killed,\n"
            "         logs in runs/20261120-210142-k3f\n");
  report_.signal = SIGHUP;
  EXPECT_TRUE(text().starts_with("dlaunch: stopped by SIGHUP after 12.7 s, "));
  report_.signal = 0;
  EXPECT_TRUE(text().starts_with(
      "dlaunch: stopped because the process that started it is gone, after 12.7 s, "));
}

TEST_F(SummaryText, CancelledBySlurmForAReasonThatItTells) {
  report_.cause = Cause::cancelled;
  report_.first.reset();
  report_.ranks[5] = report_.ranks[0];
  report_.signal = SIGTERM;
  SummaryInput input{&plan_, report_, "runs/x", evidence_};
  input.slurm = {"17", "Slurm preempts job 17: another one needs its nodes", std::nullopt};
  EXPECT_EQ(summary_text(input),
            "dlaunch: stopped by SIGTERM after 12.7 s (Slurm preempts job 17: another one\n"
            "         needs its nodes), 8 ranks stopped, logs in runs/x\n");
}

TEST_F(SummaryText, CancelledWhileWaitingForARestart) {
  report_.cause = Cause::cancelled;
  report_.first.reset();
  report_.signal = SIGINT;
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
  evidence_.last_lines = {std::string(100, 'x')};
  EXPECT_THAT(text(), HasSubstr("\n    | " + std::string(71, 'x') + "...\n"));
}

TEST_F(SummaryText, NoPlan) {
  report_ = RunReport{};
  report_.cause = Cause::plan;
  report_.exit_code = exit_code::kUsage;
  report_.detail =
      "port 29500 on node0 is taken by pid 8812 (python train.py, user eve)\n         try auto";
  EXPECT_EQ(summary_text(SummaryInput{nullptr, report_, kRun, {}}),
            "dlaunch: port 29500 on node0 is taken by pid 8812 (python train.py, user eve)\n"
            "         try auto\n");
}

TEST_F(SummaryText, InternalErrorWithoutPlan) {
  report_ = RunReport{};
  report_.cause = Cause::internal;
  report_.detail = "the engine ended with code 3";
  EXPECT_EQ(summary_text(SummaryInput{nullptr, report_, kRun, {}}),
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

}  // namespace
}  // namespace dlaunch
