#include "jobfile/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "read_text.h"

namespace dlaunch::jobfile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Overrides, WinOverTheFile) {
  const auto job =
      read_text("command: x\nprocesses: 2\ntimeouts: {stop: 1s, run: 1m}\nenv: {A: 1, B: 2}\n",
                {{"processes", "4", "-n 4"},
                 set("timeouts.stop", "5s"),
                 set("env.A", "3"),
                 set("env.C", "d"),
                 set("nodes", "2"),
                 set("nodes", "3")});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->processes, 4);
  EXPECT_EQ(job->timeouts.stop, std::chrono::seconds(5));
  EXPECT_EQ(job->timeouts.run, std::chrono::minutes(1));
  EXPECT_EQ(job->env, (Environment{{"A", "3"}, {"B", "2"}, {"C", "d"}}));
  EXPECT_EQ(job->nodes, (NodeRange{3, 3}));
}

TEST(Overrides, HideABadValueOfTheFile) {
  EXPECT_TRUE(read_text("command: x\nnodes: many\nenv:\n", {set("nodes", "2"), set("env.A", "1")}));
}

TEST(Overrides, OfASectionReplaceOnlyTheKeysThatTheyName) {
  const auto job =
      read_text("command: x\ntimeouts: {stop: 1s, run: 1m}\n", {set("timeouts", "{stop: 2s}")});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->timeouts.stop, std::chrono::seconds(2));
  EXPECT_EQ(job->timeouts.run, std::chrono::minutes(1));
}

TEST(Overrides, ReplaceWholeValues) {
  const auto job =
      read_text("command: x\nenv: {A: 1}\nenv_pass: [A]\n",
                {set("env", "{B: 2}"), set("env_pass", "[C, D]"), set("command", "[a, 'b c']")});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->env, (Environment{{"B", "2"}}));
  EXPECT_EQ(job->env_pass, (std::vector<std::string>{"C", "D"}));
  EXPECT_EQ(job->command.argv, (std::vector<std::string>{"a", "b c"}));
}

// What a shell user types for a text is that text, not YAML.
TEST(Overrides, TakeTextsAsTheyStand) {
  const auto job = read_without_file(
      {set("env.A", "#1"), set("env.B", "a: b"), set("env.C", ""), set("env.D", "\"q\""),
       set("env.E", "[x]"), set("name", "3"), set("command", "python x.py # y")},
      {});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->env,
            (Environment{{"A", "#1"}, {"B", "a: b"}, {"C", ""}, {"D", "q"}, {"E", "[x]"}}));
  EXPECT_EQ(job->name, "3");
  EXPECT_EQ(job->command.line, "python x.py # y");
}

TEST(Overrides, DoNotReachOtherUsersOfAnAlias) {
  const auto job = read_text("command: x\nenv: &e {A: 1}\nname: y\n", {set("env.A", "2")});
  ASSERT_TRUE(job);
  EXPECT_EQ(job->env.at("A"), "2");
}

TEST(Overrides, ErrorsNameWhatTheUserTyped) {
  const auto job = read_text("command: x\n", {{"processes", "many", "-n many"},
                                              set("restrat.max", "3"),
                                              set("timeouts.stp", "1s"),
                                              set("env_pass", "[A"),
                                              set("env.RANK", "1"),
                                              set("", "1")});
  EXPECT_THAT(
      errors_of(job),
      ElementsAre(
          "-n many: error: processes must be a whole number from 1 to 100000, not \"many\"",
          "--set restrat.max=3: error: unknown key \"restrat\", did you mean \"restart\"?",
          "--set timeouts.stp=1s: error: unknown key \"stp\" in timeouts, did you mean \"stop\"?",
          "--set env_pass=[A: error: not valid YAML: a '[' is not closed with ']', or a comma is "
          "missing",
          "--set env.RANK=1: error: RANK is reserved for dlaunch; remove it from env",
          "--set =1: error: unknown key \"\""));
  EXPECT_EQ(job.error().exit_code, 65);
}

TEST(Overrides, ContradictionsWithTheFileNameBoth) {
  const auto job = read_text("command: x\nprocesses_per_node: 2\n", {{"processes", "4", "-n 4"}});
  EXPECT_THAT(
      errors_of(job),
      ElementsAre("-n 4: error: processes is the total, processes_per_node the number on each "
                  "node; give only one of them (processes_per_node, line 2)"));
  EXPECT_TRUE(read_text("command: x\nprocesses_per_node: 2\n",
                        {{"processes", "4", "-n 4"}, set("processes_per_node", "auto")}));
}

TEST(Overrides, TextThatIsNotUtf8IsAnError) {
  EXPECT_THAT(message_of(read_text("command: x\n", {{"name", "\xff", "--set name=?"}})),
              HasSubstr("UTF-8"));
}

}  // namespace
}  // namespace dlaunch::jobfile
