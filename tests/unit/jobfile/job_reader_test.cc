#include "jobfile/job_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobfile/shell_quote.h"
#include "read_text.h"

namespace dlaunch::jobfile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ReadJob, ReadsAUsualFile) {
  const auto job = read_text(test_data("quickstart.yaml"));
  ASSERT_TRUE(job) << job.error().message;
  JobSpec expected;
  expected.name = "digits-ddp";
  expected.command = {true, "python3 train.py --epochs 3 --rank $RANK", {}};
  expected.setup = ". venv/bin/activate\nexport PYTHONUNBUFFERED=1\n";
  expected.processes = 4;
  expected.env = {{"NCCL_DEBUG", "WARN"}, {"LR", "1.10"}, {"DEBUG", "true"}};
  expected.env_pass = {"NCCL_*", "WANDB_API_KEY"};
  expected.env_secret = {"HF_TOKEN"};
  expected.timeouts.run = std::chrono::minutes(90);
  expected.timeouts.stop = std::chrono::milliseconds(500);
  EXPECT_EQ(*job, expected);
}

TEST(ReadJob, ReadsEveryAvailableKey) {
  const auto job = read_text(test_data("every-available-key.yaml"));
  ASSERT_TRUE(job) << job.error().message;
  JobSpec expected;
  expected.name = "all-of-it";
  expected.command.argv = {"python3", "train.py", "--lr", "0.10", "--seed", "7", "--flag", "true"};
  expected.shell = Shell::bash;
  expected.framework = Framework::tensorflow;
  expected.workdir = "/srv/code";
  expected.nodes = NodeRange{2, 2};
  expected.processes_per_node = {ProcessesPerNode::Kind::count, 3};
  expected.placement = PlacementPolicy::spread;
  for (const auto& [name, count] : std::vector<std::pair<std::string, int>>{
           {"chief", 1}, {"worker", 3}, {"ps", 2}, {"evaluator", 1}}) {
    RoleSpec role;
    role.name = name;
    role.count = count;
    expected.roles.push_back(role);
  }
  expected.roles[2].command = Command{true, "./serve", {}};
  expected.roles[2].nodes = 1;
  expected.roles[2].env = {{"ROLE_ONLY", "1"}};
  expected.env = {{"NCCL_DEBUG", "WARN"}, {"EMPTY", ""}, {"HEX", "0x10"}};
  expected.env_pass = {"WANDB_API_KEY", "AWS_*"};
  expected.env_secret = {"HF_TOKEN"};
  expected.binding = {Binding::Cpus::none, Binding::Gpus::one_per_process, 4};
  expected.rendezvous.port = 29500;
  expected.timeouts.run = std::chrono::hours(2);
  expected.timeouts.stop = std::chrono::seconds(5);
  expected.timeouts.fence_after = std::chrono::seconds(20);
  expected.timeouts.stragglers_after_success = std::chrono::minutes(5);
  expected.success = Success::workers;
  expected.restart.max = 3;
  expected.restart.on = {RestartCause::failure};
  expected.restart.not_on_exit = {2};
  expected.restart.backoff_min = std::chrono::seconds(1);
  expected.restart.backoff_max = std::chrono::minutes(1);
  expected.restart.reset_after = std::chrono::hours(1);
  expected.timeouts.lost_after = std::chrono::minutes(1);
  expected.timeouts.node_return = std::chrono::minutes(10);
  expected.stage = {{"data.tar.zst", "/local/data", true}};
  expected.stage_via = StageVia::launcher;
  expected.collect = {{"/local/out", "results/{node}/"}};
  expected.collect_limit = 20ULL << 30;
  expected.timeouts.collect = std::chrono::hours(1);
  expected.stop_signal = "USR1";
  expected.stdin_for = StdinFor::rank0;
  expected.pty = 0;
  expected.logs = {"/var/log/runs", Logs::Console::none, {}, Logs::Prefix::always};
  EXPECT_EQ(*job, expected);
}

TEST(ReadJob, LeavesOutTheKeysThatAreNotToBeRead) {
  JobInput input;
  input.text = "nodes: many\ncommand: &c echo\nhosts: [a, {b: c}]\nhostfile: *c\nprocesses: 2\n";
  input.file = "job.yaml";
  input.ignored = {"hosts", "hostfile", "nodes", "spares"};
  const auto job = read_any_job(input);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->left_out, (std::vector<std::string>{"nodes", "hosts", "hostfile"}));
  EXPECT_EQ(job->spec.processes, 2);
  EXPECT_EQ(job->spec.nodes, std::nullopt);
  input.overrides = {set("nodes", "x")};  // the command line is always read
  EXPECT_FALSE(read_job(input));
}

TEST(ReadJob, RemembersWhatWasTypedForErrorsThatComeLater) {
  JobInput input;
  input.text = "command: echo\nprocesses: 4\nhostfile: hosts.txt\nspares: 1\n";
  input.file = "job.yaml";
  input.overrides = {set("nodes", "2"), {"processes", "5", "-n 5"}};
  const auto job = read_job(input);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(as_typed(*job, "processes", "5"), "-n 5");
  EXPECT_EQ(as_typed(*job, "nodes", "2"), "--set nodes=2");
  EXPECT_EQ(as_typed(*job, "spares", "1"), "\"spares: 1\" (job.yaml:4:9)");
  EXPECT_EQ(job->typed.at("hostfile"), "job.yaml:3:11");
}

TEST(ReadJob, TheNativeJobHasAbsolutePaths) {
  JobInput input;
  input.text = "command: echo\nhostfile: hosts\n";
  input.file = "sub/job.yaml";
  input.foreign.folder = "/here/sub";
  input.foreign.current_folder = "/here";
  auto job = read_any_job(input);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_THAT(job->native, testing::HasSubstr("\nhostfile: /here/sub/hosts\n"));
  EXPECT_THAT(job->native, testing::HasSubstr("\nworkdir: /here\n"));
  input.overrides = {set("hostfile", "mine")};
  job = read_any_job(input);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_THAT(job->native, testing::HasSubstr("\nhostfile: /here/mine\n"));
}

TEST(ReadJob, ShowsAllErrorsOfAFileAtOnce) {
  const auto job = read_job({test_data("mistakes.yaml"), "mistakes.yaml", {}, {}});
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().exit_code, 65);  // sysexits.h EX_DATAERR
  EXPECT_EQ(job.error().message + "\n", test_data("mistakes.expected"));
}

TEST(ReadJob, PatternsOfMetricsHaveOneGroup) {
  const auto job = read_text("command: x\nmetrics:\n  loss: 'loss ([0-9.]+)'\n");
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->metrics.at("loss"), "loss ([0-9.]+)");
  EXPECT_THAT(
      errors_of(read_text("command: x\nmetrics:\n  a: 'loss'\n  b: '(x)(y)'\n  c: '(x'\n")),
      ElementsAre("job.yaml:3:3: error: the pattern of metrics.a has no group: put the number into "
                  "( )",
                  "job.yaml:4:3: error: the pattern of metrics.b has 2 groups; write (?: ) for all "
                  "but the number",
                  "job.yaml:5:3: error: the pattern of metrics.c is not an RE2 pattern: missing ): "
                  "(?m)(x"));
}

/// What `sync` and `stage` copy: "workdir" first, then "from -> to without exclude ...".
std::vector<std::string> copies_of(const std::string& text) {
  const auto job = read_text("command: x\n" + text);
  if (!job) return {job.error().message};
  std::vector<std::string> copies;
  if (syncs_workdir(*job)) copies.emplace_back("workdir");
  for (const Transfer& item : staged_items(*job)) {
    std::string line = item.from + (item.to.empty() ? "" : " -> " + item.to);
    for (const std::string& pattern : item.exclude) line += " without " + pattern;
    copies.push_back(std::move(line));
  }
  return copies;
}

TEST(ReadJob, SyncIsTheWorkdirAndOtherPaths) {
  EXPECT_THAT(copies_of("sync: false\n"), ElementsAre());
  EXPECT_THAT(copies_of("sync: true\n"), ElementsAre("workdir"));
  EXPECT_THAT(copies_of("sync: {}\n"), ElementsAre("workdir"));
  EXPECT_THAT(copies_of("sync: {exclude: [a], delete: never}\n"), ElementsAre("workdir"));
  EXPECT_THAT(copies_of("sync: {paths: [., ~/venv]}\n"), ElementsAre("workdir", "~/venv"));
  EXPECT_THAT(copies_of("sync: {paths: ~/venv}\n"), ElementsAre("~/venv"));
  EXPECT_THAT(copies_of("sync: {paths: [{from: ., to: /a}, {from: b, to: /b}], exclude: [c, d]}\n"
                        "stage: [/data]\n"),
              ElementsAre(". -> /a without c without d", "b -> /b without c without d", "/data"));
}

TEST(ReadJob, FindsUnknownKeysInSectionsAndLists) {
  const auto job = read_text("command: x\nmpi: {lancher: 1}\nstage: [{frm: a, to: /b}]\n");
  EXPECT_THAT(
      errors_of(job),
      ElementsAre("job.yaml:2:7: error: unknown key \"lancher\" in mpi, did you mean \"launcher\"?",
                  "job.yaml:3:9: error: stage[0] needs the key from",
                  "job.yaml:3:10: error: unknown key \"frm\" in stage[0], did you mean \"from\"?"));
}

TEST(ReadJob, SaysHowToWriteAList) {
  EXPECT_THAT(
      errors_of(read_text("command: x\ncollect: 3\nenv_pass: A\n")),
      ElementsAre("job.yaml:2:10: error: collect must be a list, not the number 3; write [3]",
                  "job.yaml:3:11: error: env_pass must be a list of variable names or patterns, "
                  "not \"A\"; write [A]"));
}

TEST(ReadJob, ShowsTwentyErrorsAndCountsTheRest) {
  std::string text = "command: x\n";
  for (int i = 0; i < 30; ++i) text += "unknown" + std::to_string(i) + ": 1\n";
  const auto job = read_text(text);
  EXPECT_EQ(errors_of(job).size(), 20u);
  EXPECT_TRUE(message_of(job).ends_with("\n\n10 more errors"));
}

TEST(ReadJob, ManyErrorsAreStillCountedAndQuick) {
  std::string text = "command: x\nenv:\n";
  for (int i = 0; i < 9'000; ++i) text += "  V" + std::to_string(i % 4'500) + ":\n";
  const auto job = read_text(text);
  ASSERT_FALSE(job);
  EXPECT_EQ(errors_of(job).size(), 20u);
  EXPECT_THAT(message_of(job), HasSubstr("more errors"));
}

TEST(ReadJob, AMissingCommandIsAnErrorOfTheWholeFile) {
  EXPECT_EQ(message_of(read_text("nodes: 1\n")),
            "job.yaml: error: no command; add \"command: python train.py\", or write it after --");
  EXPECT_EQ(message_of(read_without_file({}, {})),
            "error: no command; add \"command: python train.py\", or write it after --");
}

TEST(ReadJob, ArgumentsAreTheCommandWithoutAFile) {
  const auto job = read_without_file({{"processes", "4", "-n 4"}}, {"python", "a b.py", "--x"});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->command.argv, (std::vector<std::string>{"python", "a b.py", "--x"}));
  EXPECT_FALSE(job->command.is_shell);
  EXPECT_EQ(job->processes, 4);
}

TEST(ReadJob, ArgumentsAreAppendedToTheCommandOfAFile) {
  const auto list = read_text("command: [a, b]\n", {}, {"c d"});
  ASSERT_TRUE(list);
  EXPECT_EQ(list->command.argv, (std::vector<std::string>{"a", "b", "c d"}));
  const auto line = read_text("command: |\n  a\n  b $RANK\n", {}, {"c d", "$X", "it's", "--k=v"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->command.line, "a\nb $RANK 'c d' '$X' 'it'\\''s' --k=v");
}

TEST(ReadJob, ArgumentsDoNotHideABadCommand) {
  const auto job = read_text("command: {a: b}\n", {}, {"c"});
  EXPECT_THAT(errors_of(job), ElementsAre(HasSubstr("command must be a string")));
}

TEST(ReadJob, NamesAJobAfterItsProgramWithoutAFile) {
  const auto name = [](std::vector<std::string> argv) {
    return read_without_file({}, std::move(argv))->name;
  };
  EXPECT_EQ(name({"python", "-u", "src/train.py", "--config", "b.py"}), "train");
  EXPECT_EQ(name({"python", "-m", "pkg.train", "x"}), "train");
  EXPECT_EQ(name({"/usr/bin/nvidia-smi", "-L"}), "nvidia-smi");
  EXPECT_EQ(name({"./run.sh"}), "run");
  EXPECT_EQ(read_without_file({set("command", "python train.py | tee x")}, {})->name, "train");
  EXPECT_EQ(read_text("command: python train.py\n")->name, "");  // the caller knows the folder
}

// POSIX XCU 2.2.2: only the single quote is special between single quotes.
TEST(ShellQuote, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_quote("plain-1.0/x_y:z,@%+"), "plain-1.0/x_y:z,@%+");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("~"), "'~'");
  EXPECT_EQ(shell_quote("$(x)`y`\"\\\n"), "'$(x)`y`\"\\\n'");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace dlaunch::jobfile
