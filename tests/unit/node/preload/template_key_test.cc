#include "node/preload/template_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;

ProcessTexts process() {
  return {"/usr/bin/python3.11",
          "/work",
          "python3\0train.py\0--lr\0"
          "1\0"s,
          "RANK=3\0PATH=/bin\0"s,
          "Max open files 1024 1024 files\n",
          "Name:\tpython3\nUmask:\t0022\nPid:\t77\nSigIgn:\t0000000001001000\n",
          "77 (python3) S 1 77 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0",
          "5581000 default file=/usr/bin/python3.11",
          "mnt:[1]\n"};
}

std::optional<TemplateKey> key_of(const ProcessTexts& texts, std::size_t arguments = 3) {
  return template_key(texts, arguments, [](std::string_view name) { return name == "RANK"; });
}

TEST(TemplateKey, NamesTheScriptAndTheVariablesOfARank) {
  const auto key = key_of(process());
  ASSERT_TRUE(key);
  EXPECT_EQ(key->target, "train.py");
  EXPECT_THAT(key->dropped, ElementsAre("RANK"));
}

TEST(TemplateKey, IsTheSameForRanksOfOneCommand) {
  ProcessTexts other = process();
  other.command_line = "python3\0train.py\0--lr\0"
                       "2\0"s;
  other.environment = "PATH=/bin\0RANK=4\0"s;
  other.stat = "78 (python3) R 1 78 1 0 -1 0 0 0 0 9 9 0 0 0 20 0 1 0 4712 0 0";
  other.status = "Name:\tpython3\nUmask:\t0022\nPid:\t78\nSigIgn:\t0000000001001000\n";
  EXPECT_EQ(key_of(process()), key_of(other));
  other.command_line = "python3\0train.py\0"s;
  EXPECT_EQ(key_of(process()), key_of(other, 1)) << "another number of arguments";
}

TEST(TemplateKey, DiffersWithWhateverAForkWouldInherit) {
  const auto base = key_of(process());
  const auto differs = [&](std::string ProcessTexts::*text, std::string value) {
    ProcessTexts other = process();
    other.*text = std::move(value);
    return key_of(other)->text != base->text;
  };
  EXPECT_TRUE(differs(&ProcessTexts::program, "/opt/python"));
  EXPECT_TRUE(differs(&ProcessTexts::folder, "/"));
  EXPECT_TRUE(differs(&ProcessTexts::command_line, "python3\0eval.py\0a\0b\0"s));
  EXPECT_TRUE(differs(&ProcessTexts::command_line, "python3\0-u\0train.py\0a\0b\0"s));
  EXPECT_TRUE(differs(&ProcessTexts::environment, "RANK=3\0PATH=/usr/bin\0"s));
  EXPECT_TRUE(differs(&ProcessTexts::environment, "RANK=3\0PATH=/bin\0A=\0"s));
  EXPECT_TRUE(differs(&ProcessTexts::limits, ""));
  EXPECT_TRUE(differs(&ProcessTexts::status, "Name:\tpython3\nUmask:\t0077\n"));
  EXPECT_TRUE(differs(&ProcessTexts::stat,
                      "77 (python3) S 1 77 1 0 -1 0 0 0 0 0 0 0 0 0 20 5 1 0 4711 0 0"));
  EXPECT_TRUE(differs(&ProcessTexts::memory_policy, "5581000 bind:0 file=/usr/bin/python3.11"));
  EXPECT_FALSE(differs(&ProcessTexts::memory_policy, "66aa000 default anon=2"));
  EXPECT_TRUE(differs(&ProcessTexts::namespaces, "mnt:[2]\n"));
}

// sys.argv[0] is "-m" or "-c" while the interpreter starts.
TEST(TemplateKey, KnowsModulesAndCommands) {
  ProcessTexts texts = process();
  texts.command_line = "python3\0-m\0trainer.task\0--lr\0"s;
  EXPECT_EQ(key_of(texts, 2)->target, "trainer.task");
  texts.command_line = "python3\0-c\0print(1)\0"s;
  EXPECT_EQ(key_of(texts, 1)->target, "print(1)");
}

TEST(TemplateKey, NeedsAProgram) {
  ProcessTexts texts = process();
  EXPECT_FALSE(key_of(texts, 0));
  EXPECT_FALSE(key_of(texts, 5)) << "more arguments than words";
  texts.command_line = "python3\0-\0"s;
  EXPECT_FALSE(key_of(texts, 1)) << "a program from stdin";
  texts.command_line = "";
  EXPECT_FALSE(key_of(texts, 1)) << "it has ended";
}

TEST(IsNamedIn, LooksForTheNameOfTheScript) {
  EXPECT_TRUE(is_named_in({"sh", "-c", "cd src; python train.py $RANK"}, "train.py"));
  EXPECT_TRUE(is_named_in({"torchrun", "--standalone"}, "/opt/venv/bin/torchrun"));
  EXPECT_TRUE(is_named_in({"python", "-m", "trainer.task"}, "trainer.task"));
  EXPECT_FALSE(is_named_in({"sh", "-c", "module load x; python train.py"}, "/opt/lmod/helper.py"));
}

}  // namespace
}  // namespace dlaunch
