// Every way in which a rank's failure is reported.
#include <cerrno>
#include <csignal>

#include <gmock/gmock.h>

#include "report/summary.h"
#include "report_builder.h"
#include "summary_fixture.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
using namespace testing_support;
using std::chrono::milliseconds;
using std::chrono::seconds;
using How = RankEnd::How;
using FailureWordsTest = SummaryText;

TEST_F(FailureWordsTest, Failure) {
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
            "  why     the memory of the GPU is full\n"
            "  others  rank 4 exited with 1 after 300 ms;\n"
            "          0-3, 6, 7 were stopped by dlaunch\n"
            "  try     a smaller batch; --env\n"
            "          PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"
            "  logs    dlaunch logs --rank 5           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(FailureWordsTest, FromTheFirstRestartOnTheTimeIsAccountedFor) {
  const auto spend = [&](Spent line, seconds time) {
    report_.spent[static_cast<std::size_t>(line)] = time;
  };
  EXPECT_THAT(text(), testing::Not(HasSubstr("  time ")));
  FailedAttempt failed;
  failed.outcome = report_.outcome;
  failed.ran = seconds(600);
  failed.again = milliseconds(340);
  failed.steps_lost = 20;
  report_.earlier = {failed};
  report_.attempt = Attempt(1);
  report_.elapsed = seconds(1000);
  spend(Spent::connect, seconds(3));
  spend(Spent::recomputed, seconds(47));
  spend(Spent::productive, seconds(948));
  spend(Spent::stopping, seconds(2));
  EXPECT_THAT(text(), HasSubstr("10 min 00 s; up again in 340 ms, 20 steps\n          redone\n"
                                "  time    15 min 48 s productive (95 %), 47.0 s recomputed (5 "
                                "%), 5.0 s other\n"));
}

TEST_F(FailureWordsTest, WhoseModuleWasNotFound) {
  evidence_.exception = "ModuleNotFoundError: No module named 'numpy'";
  EXPECT_THAT(text(), HasSubstr("  why     the Python of the rank does not have the module; "));
  plan_.nodes[1].python = "/usr/bin/python3 (Python 3.11)";
  EXPECT_THAT(text(), HasSubstr("  why     the interpreter was /usr/bin/python3 (Python 3.11)\n"));
  evidence_.exception = "ImportError: cannot import name 'x'";
  EXPECT_THAT(text(), testing::Not(HasSubstr("  why ")));
}

TEST_F(FailureWordsTest, WhatIsMissingOnOneNodeOnly) {
  evidence_.exception = "FileNotFoundError: [Errno 2] No such file or directory: '/data/x'";
  const auto only_there = HasSubstr("only ranks on node1\n          failed in this way");
  EXPECT_THAT(text(), only_there);
  report_.outcome.alike = {Rank(4)};
  EXPECT_THAT(text(), only_there) << "rank 4 is on node1, too";
  report_.outcome.alike = {Rank(0), Rank(4)};
  EXPECT_THAT(text(), testing::Not(HasSubstr("failed in this way")));
  EXPECT_THAT(text(), HasSubstr("  why     the file does not exist on the node of the rank\n"));
}

TEST_F(FailureWordsTest, ANanExplainsWhatNothingElseDoes) {
  SummaryInput input{&plan_, report_, kSummaryRun, evidence_};
  input.metrics = {{"loss", {{Rank(0), Stream::out, 5, 0.5, 0.5}}, 3, "nan"}};
  EXPECT_THAT(summary_text(input),
              HasSubstr("  why     3 values of the metric loss are not a number (\"nan\")\n"));
  EXPECT_THAT(summary_json(input), HasSubstr("\"failure\": \"metric-not-a-number\""));
  input.evidence.exception = "OSError: [Errno 28] No space left on device";
  EXPECT_THAT(summary_text(input), HasSubstr("  why     a disk is full\n"));
  EXPECT_THAT(summary_json(input), HasSubstr("\"failure\": \"disk-full\""));
}

TEST_F(FailureWordsTest, ALostPeerIsToldBeforeTheAdviceOfTheTable) {
  evidence_.exception =
      "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:268, remote process exited "
      "or there was a network error, NCCL version 2.21.5";
  report_.outcome.lost_peer = {Rank(5)};
  EXPECT_THAT(text(), HasSubstr("  why     the error says that another rank is gone"));
  EXPECT_THAT(text(), HasSubstr("  try     dlaunch check tests the network between the nodes\n"));
  EXPECT_THAT(summary_json(SummaryInput{&plan_, report_, kSummaryRun, evidence_}),
              HasSubstr("\"failure\": \"peer-lost\""));
}

TEST_F(FailureWordsTest, ALostPeerWithoutARowOfTheTable) {
  evidence_.exception = "RuntimeError: Connection reset by peer";
  report_.outcome.lost_peer = {Rank(5)};
  EXPECT_THAT(text(), HasSubstr("  try     dlaunch check tests the network between the nodes\n"));
  plan_ = make_plan(1, 8);
  EXPECT_THAT(text(), testing::Not(HasSubstr("dlaunch check")));
}

TEST_F(FailureWordsTest, ATakenPortOfDlaunchIsNotTheProgramsFault) {
  evidence_.exception = "OSError: [Errno 98] Address already in use";
  EXPECT_THAT(text(), HasSubstr("port 0 takes a free port"));
  report_.outcome.cause = Cause::port_taken;
  report_.outcome.port = TakenPort{};
  EXPECT_THAT(text(), testing::Not(HasSubstr("port 0 takes a free port")));
}

TEST_F(FailureWordsTest, ASingleRankWithoutAWord) {
  plan_ = make_plan(1, 1);
  report_.ranks = {report_.ranks[5]};
  report_.outcome.first = Rank(0);
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.4 s: rank 0 on node0 exited with code 1\n"
            "\n"
            "  logs    dlaunch logs --rank 0           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(FailureWordsTest, ASignalIsNamed) {
  report_.outcome.cause = Cause::signal;
  report_.ranks[5].status = ExitStatus{true, SIGSEGV, true};
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.4 s: rank 5 on node1 was killed by SIGSEGV (core\n"
            "         dumped), first of 8\n"
            "\n"
            "  why     the program accessed memory that it does not own\n"
            "  others  0-4, 6, 7 were stopped by dlaunch\n"
            "  try     --env PYTHONFAULTHANDLER=1 shows where in Python; ulimit -c unlimited\n"
            "          and gdb in C\n"
            "  logs    dlaunch logs --rank 5           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(FailureWordsTest, LackOfMemoryIsToldWithItsEvidence) {
  report_.outcome.cause = Cause::out_of_memory;
  report_.ranks[5].status =
      ExitStatus{true, SIGKILL, false, "12.3 GiB anonymous; cgroup limit 12 GiB"};
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.4 s: rank 5 on node1 was killed by SIGKILL, first of 8\n"
            "\n"
            "  why     the kernel killed the rank: out of memory (12.3 GiB anonymous; cgroup\n"
            "          limit 12 GiB)\n"
            "  others  0-4, 6, 7 were stopped by dlaunch\n"
            "  try     a smaller batch, fewer data loaders or ranks per node; or a higher\n"
            "          memory limit (sbatch --mem)\n"
            "  logs    dlaunch logs --rank 5           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(FailureWordsTest, AFaultOfAGpuExplainsWhatItsRankPrinted) {
  report_.ranks[5].status = code(1);
  report_.ranks[5].status.gpu_fault = "Xid 79 on 0000:3b:00.0: the GPU has fallen off the bus";
  evidence_.exception = "RuntimeError: NCCL error: unhandled system error";
  const std::string shown = text();
  EXPECT_THAT(shown,
              HasSubstr("  why     the GPU driver of its node reports Xid 79 on 0000:3b:00.0: "
                        "the GPU has\n          fallen off the bus\n"));
  EXPECT_THAT(shown, HasSubstr("  try     --exclude NODE, until the node has been rebooted"));
}

TEST_F(FailureWordsTest, ARankThatIsNoneOfMpiIsToldWithTheReason) {
  report_.outcome.cause = Cause::mpi;
  report_.outcome.exit_code = 65;
  report_.ranks[5].status = ExitStatus{false, 0, false, "", MpiEnd::never_connected};
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.4 s: rank 5 on node1 exited without having called\n"
            "         MPI_Init, first of 8\n"
            "\n"
            "  why     every rank of an MPI job must call MPI_Init, which connects it to\n"
            "          dlaunch over PMIx (Open MPI) or PMI-1 (MPICH, Intel MPI); this one did\n"
            "          not: it is not an MPI program, or its MPI library supports neither, or\n"
            "          a container hides PMIx's server or the descriptor PMI_FD from it, or\n"
            "          there is no server (a note says so)\n"
            "  others  0-4, 6, 7 were stopped by dlaunch\n"
            "  try     mpi.init: optional for programs that only read MPI's variables;\n"
            "          framework: none for programs without MPI; for other MPI libraries\n"
            "          their own mpirun, with mpi.launcher: mpirun\n"
            "  logs    dlaunch logs --rank 5           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(FailureWordsTest, ARankOfAnotherWorld) {
  report_.outcome.cause = Cause::mpi;
  report_.outcome.exit_code = 65;
  report_.ranks[5].status = ExitStatus{false, 0, false, "", MpiEnd::other_world, 1};
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.4 s: rank 5 on node1 exited from an MPI world of 1\n"
            "         rank, first of 8\n"
            "\n"
            "  why     the ranks of this job are one world of 8, but this one's MPI library\n"
            "          made a world of its own: something between dlaunch and the program\n"
            "          changed or removed the variables that hold its rank (PMI_RANK,\n"
            "          PMI_SIZE: env -i, sudo, a wrapper, a container that does not pass\n"
            "          them)\n"
            "  others  0-4, 6, 7 were stopped by dlaunch\n"
            "  try     the program without the commands before it; mpi.init: optional if a\n"
            "          world of its own is intended\n"
            "  logs    dlaunch logs --rank 5           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(FailureWordsTest, ARankThatHasNotMetMpirun) {
  plan_.mpirun = MpirunPlan{"Open MPI 4", {"mpirun"}, {}, ""};
  report_.outcome.cause = Cause::mpi;
  report_.outcome.exit_code = 65;
  report_.ranks[5].status = ExitStatus{false, 0, false, "", MpiEnd::never_connected};
  EXPECT_THAT(text(),
              testing::HasSubstr("this one did not\n          connect to mpirun (Open MPI 4):"));
  EXPECT_THAT(text(), testing::HasSubstr("  try     the mpirun of the library that the program"));
}

TEST_F(FailureWordsTest, TiesAreNotDecided) {
  report_.outcome.first = Rank(3);
  report_.outcome.perhaps_first = {Rank(5)};
  report_.ranks[3] = report_.ranks[5];
  EXPECT_EQ(text(),
            "dlaunch: FAILED after 12.4 s: rank 3 on node0 exited with code 1, cannot tell\n"
            "         which of ranks 3 and 5 was first\n"
            "\n"
            "  others  rank 5 exited with 1 at the same time;\n"
            "          0-2, 4, 6, 7 were stopped by dlaunch\n"
            "  logs    dlaunch logs --rank 3           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(FailureWordsTest, EveryWayToEnd) {
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
            "          rank 0 had succeeded;\n"
            "          rank 6 was not started;\n"
            "          1 leftover process was killed\n"
            "  logs    dlaunch logs --rank 5           runs/20261120-210142-k3f/attempt-0/\n");
}

TEST_F(FailureWordsTest, CannotExecute) {
  report_.outcome.cause = Cause::cannot_execute;
  report_.outcome.first = Rank(0);
  report_.ranks.assign(8, RankEnd{});
  report_.ranks[0].how = How::cannot_start;
  report_.ranks[0].start_failure = StartFailure{StartFailure::Step::execute, ENOENT, "python3.12",
                                                "/usr/local/bin:/usr/bin:/bin"};
  EXPECT_EQ(text(),
            "dlaunch: rank 0 on node0: cannot execute \"python3.12\": No such file or directory\n"
            "         PATH on node0: /usr/local/bin:/usr/bin:/bin\n");
}

TEST_F(FailureWordsTest, AWordWithASpaceIsWrittenAsSeveralWithAllThatFollow) {
  report_.outcome.cause = Cause::cannot_execute;
  report_.outcome.first = Rank(0);
  report_.ranks.assign(1, RankEnd{});
  report_.ranks[0].how = How::cannot_start;
  report_.ranks[0].start_failure =
      StartFailure{StartFailure::Step::execute, ENOENT, "python3 train.py", "/bin"};
  plan_.commands.assign(1, {});
  plan_.commands[0].argv = {"python3 train.py", "--lr 0.1", "--note=a b", "c d"};
  EXPECT_THAT(text(), HasSubstr("-- python3 train.py --lr 0.1 '--note=a b' 'c d', or in the job "
                                "file command: python3 train.py --lr 0.1 "));
}

TEST_F(FailureWordsTest, AScriptGivenAsAProgramGetsAdvice) {
  report_.outcome.cause = Cause::cannot_execute;
  report_.outcome.first = Rank(0);
  report_.ranks.assign(1, RankEnd{});
  report_.ranks[0].how = How::cannot_start;
  using Step = StartFailure::Step;
  report_.ranks[0].start_failure = StartFailure{Step::execute, ENOENT, "train.py", "/bin"};
  EXPECT_THAT(text(), HasSubstr("if it is in the workdir: ./train.py, or python3 train.py\n"));
  report_.ranks[0].start_failure = StartFailure{Step::execute, EACCES, "/data/go.sh", ""};
  EXPECT_THAT(text(), HasSubstr("try: sh /data/go.sh, or chmod +x /data/go.sh\n"));
  report_.ranks[0].start_failure = StartFailure{Step::execute, ENOENT, "/data/train.py", ""};
  EXPECT_THAT(text(), Not(HasSubstr("python3"))) << "the file does not exist, for python3 neither";
}

TEST_F(FailureWordsTest, CannotExecuteWhileOthersRan) {
  report_.outcome.cause = Cause::cannot_execute;
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

TEST_F(FailureWordsTest, ASigkillFromOutside) {
  report_.outcome.cause = Cause::signal;
  report_.ranks[5].status = killed_by(SIGKILL);
  report_.ranks[5].status.oom_ruled_out = true;
  EXPECT_THAT(text(), HasSubstr("rank 5 on node1 was killed by SIGKILL, first of 8\n"));
  EXPECT_THAT(
      text(),
      HasSubstr("  why     the signal was sent neither by dlaunch nor, according to the kernel's\n"
                "          records, by its OOM killer\n"));
  EXPECT_THAT(text(), HasSubstr("  try     the log of the scheduler or container engine on that"));
  report_.ranks[5].status = code(137);
  EXPECT_THAT(text(),
              HasSubstr("  why     137 is a shell's code for a program that SIGKILL ended; "));
  report_.ranks[5].status = killed_by(SIGKILL);
  EXPECT_THAT(text(), HasSubstr("  why     the signal was not sent by dlaunch; dlaunch cannot"));
  EXPECT_THAT(text(), HasSubstr("  try     sudo dmesg -T | grep -i \"killed process\" on that"));
  evidence_.last_lines = {"slurmstepd: error: *** JOB 17 ON gpu01 CANCELLED DUE TO TIME LIMIT ***"};
  EXPECT_THAT(text(), HasSubstr("  why     the signal was not sent by dlaunch; dlaunch cannot"));
  EXPECT_THAT(text(), HasSubstr("  try     a longer --time for sbatch, and checkpoints"));
}

TEST_F(FailureWordsTest, ADebuggerWithoutInput) {
  evidence_.exception = "bdb.BdbQuit";
  EXPECT_THAT(text(), HasSubstr("  try     dlaunch run --pty 5: without it"));
  SummaryInput input{&plan_, report_, kSummaryRun, evidence_};
  input.stdin_rank = Rank(0);
  EXPECT_THAT(
      summary_text(input),
      HasSubstr("  try     only rank 0 reads the terminal: if os.environ[\"RANK\"] == \"0\":\n"
                "          breakpoint()\n"));
  report_.outcome.first = Rank(0);
  EXPECT_THAT(summary_text(input), testing::Not(HasSubstr("  try ")))
      << "the user has left the debugger";
}

TEST_F(FailureWordsTest, AQuestionWithoutInput) {
  evidence_.exception = "EOFError: EOF when reading a line";
  EXPECT_THAT(text(),
              HasSubstr("  try     dlaunch run --pty 5: without it a rank's stdin is empty, and "
                        "input()\n          fails; "));
  EXPECT_THAT(text(),
              HasSubstr("guard the call: if\n          os.environ[\"RANK\"] == \"5\": input()\n"));
  evidence_.exception = "EOFError: Ran out of input";
  EXPECT_THAT(text(), testing::Not(HasSubstr("stdin"))) << "that is pickle's";
}

}  // namespace
}  // namespace dlaunch
