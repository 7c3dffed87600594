// What `dlaunch help` says about keys, exit codes, options and messages.
#include "report/explain.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobfile/field_table.h"
#include "jobfile/job_reader.h"
#include "report/exit_codes.h"
#include "report/known_failures.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(KeyHelp, HasTypeDefaultMeaningAndExample) {
  EXPECT_EQ(key_help("timeouts.stop").substr(0, 14), "timeouts.stop\n");
  EXPECT_THAT(key_help("timeouts.run"), HasSubstr("  value    a duration such as 30s"));
  EXPECT_THAT(key_help("timeouts.run"), HasSubstr("  default  none\n"));
  EXPECT_THAT(key_help("processes"), HasSubstr("  option   --set processes=6\n"));
  EXPECT_THAT(key_help("restart.max"), HasSubstr("  job file restart: {max: 0}\n"));
  EXPECT_THAT(key_help("hosts[].name"), HasSubstr("the key is required"));
}

TEST(KeyHelp, FindsAKeyByOtherNames) {
  EXPECT_THAT(key_help("backoff"), StartsWith("restart.backoff\n"));
  EXPECT_THAT(key_help("nproc_per_node"), StartsWith("processes_per_node\n"));
  EXPECT_THAT(key_help("restart"), StartsWith("keys of restart\n  restart.max "));
  EXPECT_THAT(key_help("metrics"), StartsWith("metrics\n"));
  EXPECT_EQ(key_help("no-such-key"), "");
}

// What help shows must be right when it is typed.
TEST(KeyHelp, ExamplesAreAccepted) {
  for (const jobfile::Field& field : jobfile::fields()) {
    EXPECT_THAT(key_help(field.key), HasSubstr(std::string(field.key) + '\n'));
    if (field.key.find_first_of("[*") != std::string_view::npos || field.example.empty()) continue;
    JobInput input{"command: x\n",
                   "job.yaml",
                   {{std::string(field.key), std::string(field.example), "--set"}},
                   {}};
    const auto job = read_job(input);
    // Some contradict the rest of so small a file; none is a wrong value.
    if (!job) EXPECT_THAT(job.error().message, Not(HasSubstr("expected"))) << field.key;
  }
}

TEST(MessageHelp, FindsTheKnownFailure) {
  EXPECT_THAT(message_help("RuntimeError: CUDA error: out of memory"),
              StartsWith("cuda-out-of-memory\n"));
  EXPECT_THAT(message_help("nccl-watchdog"), StartsWith("nccl-watchdog\n"));
  EXPECT_THAT(message_help("CUDA out of memory"), HasSubstr("cuda-out-of-memory\n"));
  EXPECT_THAT(message_help("Duplicate GPU"), HasSubstr("two ranks use the same GPU"));
  EXPECT_THAT(message_help("out of memory"), HasSubstr("gpu-out-of-memory"));
  EXPECT_THAT(message_help("memory"), HasSubstr("more message"));
  EXPECT_THAT(message_help("Connection reset by peer"), HasSubstr("dlaunch logs"));
  EXPECT_EQ(message_help("some text that no row has"), "");
  EXPECT_EQ(message_help("emor"), "") << "words count as wholes";
  EXPECT_EQ(message_help("x"), "");
  EXPECT_EQ(message_help(""), "");
}

TEST(MessageHelp, FindsEachRowByItsName) {
  for (const KnownFailure& row : known_failures())
    EXPECT_THAT(message_help(row.name), HasSubstr(std::string(row.name) + "\n"));
}

TEST(MessageHelp, FindsWhatDlaunchSays) {
  EXPECT_EQ(
      message_help("dlaunch: FAILED after 3 s: gpu4: ssh: me@gpu4: Permission denied (publickey)."),
      "USER@HOST: Permission denied (METHODS)\n"
      "  why: sshd there accepts none of your keys\n"
      "  try: ssh-add -l; connect.user, connect.identity_file; authorized_keys on gpu4\n");
  EXPECT_THAT(message_help("Host key for gpu4 has changed and you have requested strict checking."),
              HasSubstr("ssh-keygen -R gpu4"));
  EXPECT_THAT(message_help("does not end"), HasSubstr("SIGKILL does not end RANKS"))
      << "a part of a message";
  EXPECT_THAT(message_help("Connection refused"), StartsWith("connection-refused\n"))
      << "of a rank, as no host is named";
}

TEST(MessageHelp, TheCauseInAReportPrecedesItsOtherWords) {
  EXPECT_THAT(
      message_help("dlaunch: FAILED after 12 s: rank 5 on node1 exited with code 1, first of 8\n"
                   "  last lines of rank 5 (stderr)\n"
                   "    | RuntimeError: CUDA error: out of memory\n"
                   "  others  7 ranks were stopped by dlaunch\n"),
      StartsWith("cuda-out-of-memory\n"));
  EXPECT_THAT(message_help("cannot execute \"train.py\": Permission denied"),
              StartsWith("permission-denied\n"));
  EXPECT_THAT(message_help("the GPU driver reports Xid 79: the GPU has fallen off the bus"),
              StartsWith("gpu-off-the-bus\n"));
}

TEST(OptionHelp, TellsWhatAnOptionBecomes) {
  EXPECT_THAT(option_help("--master_port"), HasSubstr("--set rendezvous.port=VALUE"));
  EXPECT_THAT(option_help("--bind-to"), HasSubstr("ranks get cores of their own"));
  EXPECT_THAT(option_help("-N"), HasSubstr("of srun: --nnodes VALUE"));
  EXPECT_THAT(option_help("-N"), HasSubstr("of mpirun: --nproc-per-node VALUE"));
  EXPECT_THAT(option_help("--allow-run-as-root"), HasSubstr("not needed"));
  EXPECT_THAT(option_help("-m"), HasSubstr("of torchrun: -- python3 -m MODULE\n"));
  EXPECT_THAT(option_help("--genv"), HasSubstr("--env NAME=VALUE\n"));
  EXPECT_EQ(option_help("--bogus"), "");
}

TEST(ExitCodeHelp, OfDlaunchOfRanksAndOfSignals) {
  EXPECT_THAT(exit_code_help(0), StartsWith("0\n  The job succeeded.\n"));
  EXPECT_THAT(exit_code_help(74), HasSubstr("try: dlaunch collect\n"));
  EXPECT_THAT(exit_code_help(74), HasSubstr("A rank may exit with the same code"));
  EXPECT_THAT(exit_code_help(3), HasSubstr("A rank exited with this code"));
  EXPECT_THAT(exit_code_help(137), StartsWith("137 = 128 + 9, SIGKILL\n  SIGKILL killed the rank"));
  EXPECT_THAT(exit_code_help(137), HasSubstr("ran out of memory"));
  EXPECT_EQ(exit_code_help(139),
            "139 = 128 + 11, SIGSEGV\n  SIGSEGV killed the rank that failed first.\n");
  EXPECT_THAT(exit_code_help(143), HasSubstr("or ended dlaunch itself (dlaunch\n  stop, kill,"));
  EXPECT_THAT(exit_code_help(143), Not(HasSubstr("137")));
  EXPECT_THAT(exit_code_help(168), HasSubstr("\n  Signal 40 killed the rank"));
  EXPECT_THAT(exit_code_help(158), HasSubstr("taken away"));
  EXPECT_THAT(exit_code_help(255), HasSubstr("A rank exited"));
  EXPECT_THAT(exit_code_help(256), IsEmpty());
  EXPECT_THAT(exit_code_help(-1), IsEmpty());
}

// The documentation has the table.
TEST(ExitCodeHelp, TheReferenceHasEachRow) {
  std::ifstream file(DLAUNCH_DOCS "/reference/exit-codes.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const ExitCodeRow& row : exit_codes()) {
    const std::string line = "| " + std::string(row.name) + " | " + std::string(row.meaning) + " |";
    EXPECT_NE(text.str().find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace dlaunch
