// What the text of a shell command tells: its words, and the programs that it starts.
#include <iterator>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobfile/dialects/shell_words.h"
#include "jobfile/dialects/started_programs.h"
#include "jobfile/job_reader.h"
#include "read_text.h"

namespace dlaunch::jobfile {
namespace {

using testing::ElementsAre;

TEST(ShellWords, AreQuotedButForVariables) {
  EXPECT_EQ(quote_but_variables("--lr"), "--lr");
  EXPECT_EQ(quote_but_variables("a b"), "'a b'");
  EXPECT_EQ(quote_but_variables("$RANK"), "\"$RANK\"");
  EXPECT_EQ(quote_but_variables("${RANK}/x y"), "\"${RANK}/x y\"");
  EXPECT_EQ(quote_but_variables("$RANK \"`ls`\\ $5 $(x)"),
            "\"$RANK \\\"\\`ls\\`\\\\ \\$5 \\$(x)\"");
  EXPECT_EQ(quote_but_variables("costs $5"), "'costs $5'");
  EXPECT_EQ(quote_but_variables(""), "''");
}

TEST(ShellWords, OfASimpleCommand) {
  EXPECT_THAT(*simple_words("mpirun -n 2  python 'a b' \"c \\\"d\" e\\ f --x=1"),
              ElementsAre("mpirun", "-n", "2", "python", "a b", "c \"d", "e f", "--x=1"));
  EXPECT_THAT(*simple_words("a \"\\d \\$ \\\\ \\\"b\\\nc\""), ElementsAre("a", "\\d $ \\ \"bc"))
      << "XCU 2.2.3: in double quotes a backslash stays but before $ ` \" \\ and a line feed";
  EXPECT_THAT(*simple_words("mpirun \\\n  -n 2"), ElementsAre("mpirun", "-n", "2"));
  for (const char* line : {"cd x && mpirun a", "A=1 mpirun a", "mpirun $X", "mpirun a > b",
                           "mpirun 'a", "mpirun \"$X\"", "a; b", "a | b", "mpirun `x`", "a\nb"})
    EXPECT_FALSE(simple_words(line)) << line;
}

TEST(StartedLauncher, IsFoundInTheCommand) {
  for (const char* command :
       {"torchrun train.py", "python -m torch.distributed.launch x.py", "accelerate launch x.py",
        "cd src && /usr/bin/torchrun x.py", "torchrun --node_rank $RANK x.py", "deepspeed train.py",
        "pip list; torchrun x.py", "pip list\ntorchrun x.py\n", "A=1 B= torchrun x.py",
        "pip list && A=1 accelerate \\\n  launch x.py", "if true; then torchrun x.py; fi",
        "bash -c 'torchrun x.py'", "(sudo torchrun x.py)", "accelerate-launch x.py",
        "nohup python -m torch.distributed.run x.py &"})
    EXPECT_TRUE(started_launcher(command)) << command;
  for (const char* command :
       {"python train.py", "python train.py --deepspeed ds.json", "python x.py --launcher torchrun",
        "python x.py \\\n  torchrun", "echo A=1 torchrun"})
    EXPECT_FALSE(started_launcher(command)) << command;
}

std::string_view found_launcher(const char* command) {
  return started_program(command, {"mpirun", "deepspeed"});
}

/// "yes", "no", or the message about several launchers.
std::string per_node(const std::string& count, const std::string& command) {
  JobInput input;
  input.text = "type: command\ndistribution: {type: pytorch" + count + "}\ncommand: " + command;
  const auto job = read_any_job(input);
  if (!job) return "error";
  const std::string notes = job->notes.empty() ? "" : " with a note";
  return (job->spec.launch == Launch::per_node ? "yes" : "no") + notes;
}

// job-specs 1.7: process_count_per_instance counts if given; else $NODE_RANK decides.
TEST(OwnWorkers, AndTheNumberOfProcesses) {
  const std::string one = ", process_count_per_instance: 1";
  const std::string four = ", process_count_per_instance: 4";
  EXPECT_EQ(per_node("", "torchrun a.py"), "yes");
  EXPECT_EQ(per_node(one, "torchrun a.py"), "yes");
  EXPECT_EQ(per_node("", "python a.py $NODE_RANK"), "yes with a note");
  EXPECT_EQ(per_node(one, "python a.py $NODE_RANK"), "no");
  EXPECT_EQ(per_node(", process_count: 1", "python a.py $NODE_RANK"), "no with a note");
  EXPECT_EQ(per_node(four, "torchrun --nproc_per_node 8 a.py"), "error");
  EXPECT_EQ(per_node(four, "cd x && torchrun --nproc-per-node=8 a.py"), "error");
  EXPECT_EQ(per_node(four, "accelerate launch --num_processes 2 a.py"), "error");
  EXPECT_EQ(per_node(four, "deepspeed --num_gpus 2 a.py"), "error");
  EXPECT_EQ(per_node(four, "torchrun --nproc_per_node 1 a.py"), "no with a note");
  EXPECT_EQ(per_node(four, "torchrun --nproc_per_node $N a.py"), "no with a note");
  EXPECT_EQ(per_node(four, "deepspeed a.py --num_gpus 2"), "no with a note") << "the script's own";
  EXPECT_EQ(per_node(four, "torchrun a.py && b --nproc_per_node 2"), "no with a note");
  EXPECT_EQ(per_node(four, "torchrun --nproc_per_node 8 --node_rank $RANK a.py"), "no")
      << "on purpose";
}

TEST(StartedProgram, BeginsASimpleCommand) {
  const auto found = found_launcher;
  EXPECT_EQ(found("/opt/bin/mpirun -n 2 a"), "mpirun");
  EXPECT_EQ(found("cd x && A=1 deepspeed a.py"), "deepspeed");
  EXPECT_EQ(found("a\nmpirun b"), "mpirun");
  EXPECT_EQ(found("which mpirun"), "");
  EXPECT_EQ(found("python a.py --deepspeed ds.json"), "");
}

TEST(StartedProgram, IsSeenBehindWhatOnlyLeadsToIt) {
  for (const char* command : {"sudo mpirun a",
                              "sudo -u me -E A=1 mpirun a",
                              "env -i A=1 mpirun a",
                              "time -p mpirun a",
                              "nohup mpirun a &",
                              "exec -a x mpirun a",
                              "nice -n 5 mpirun a",
                              "timeout -k 5 1h mpirun a",
                              "stdbuf -oL mpirun a",
                              "taskset -c 0-3 mpirun a",
                              "command mpirun a",
                              "(mpirun a)",
                              "(cd x; mpirun a)",
                              "{ mpirun a; }",
                              "if true; then mpirun a; fi",
                              "if mpirun a\nthen :\nfi",
                              "if x; then :; else mpirun a; fi",
                              "for i in 1 2; do mpirun a; done",
                              "while ! mpirun a; do :; done",
                              "x&&mpirun a",
                              "x|mpirun a",
                              "x& mpirun a",
                              "a=$(mpirun b)",
                              "a=`mpirun b`",
                              "echo $(date) && mpirun a",
                              "sh -c 'mpirun a'",
                              "bash -lc \"exec mpirun a\"",
                              "bash -o pipefail -c 'x; mpirun a'",
                              "eval mpirun a",
                              "'mpirun' a",
                              "x 2>&1 >log; mpirun a",
                              ">log mpirun a",
                              "x <<END\ny\nEND\nmpirun a",
                              "case $1 in a) mpirun b;; esac",
                              "mpi\\\nrun a",
                              "! mpirun a",
                              "sudo env nohup mpirun a"})
    EXPECT_EQ(found_launcher(command), "mpirun") << command;
  for (const char* command : {"command -v mpirun",
                              "echo 'x; mpirun a'",
                              "echo \"$(mpirun) \"",
                              "echo a > mpirun",
                              "# mpirun a",
                              "x # ; mpirun a",
                              "cat <<END\nmpirun a\nEND",
                              "cat <<-'END'\n\tmpirun a\n\tEND\n",
                              "for mpirun in a; do :; done",
                              "x 2>&1 mpirun",
                              "sudo",
                              "timeout 5",
                              "env A=1",
                              "",
                              "echo ${a:-mpirun}",
                              "python mpirun",
                              "sh mpirun",
                              "'",
                              "\\",
                              "$(",
                              "${",
                              "<<",
                              "`",
                              "echo $(date) mpirun"})
    EXPECT_EQ(found_launcher(command), "") << command;
}

TEST(StartedLauncher, HasANameAndArguments) {
  const auto launcher =
      started_launcher("cd x && python -u -m torch.distributed.run --nnodes 2 a.py");
  ASSERT_TRUE(launcher);
  EXPECT_EQ(launcher->name, "torch.distributed.run");
  EXPECT_THAT(launcher->arguments, ElementsAre("--nnodes", "2", "a.py"));
  EXPECT_EQ(started_launcher("accelerate launch a.py")->name, "accelerate launch");
  EXPECT_FALSE(started_launcher("accelerate config"));
}

TEST(SimpleCommands, AreWordsWithoutQuotesAndRedirections) {
  EXPECT_THAT(simple_commands("A=1 b 'c d'\"e $f\" 2>&1 >g h; i $(j k) l|m"),
              ElementsAre(ElementsAre("A=1", "b", "c de $f", "h"), ElementsAre("j", "k"),
                          ElementsAre("i", "$", "l"), ElementsAre("m")));
}

TEST(SimpleCommands, AreFoundInAnyText) {
  constexpr std::string_view kPieces[] = {"a", " ", "\n", "'", "\"",    "\\",     "$",   "(",
                                          ")", "{", "}",  "`", "<",     ">",      "&",   "|",
                                          ";", "#", "-",  "=", "sudo ", "sh -c ", "<<E", "eval "};
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (auto left = random() % 24; left > 0; --left)
      text += kPieces[random() % std::size(kPieces)];
    for (const auto& words : started_commands(text)) EXPECT_FALSE(words.empty()) << text;
  }
}

}  // namespace
}  // namespace dlaunch::jobfile
