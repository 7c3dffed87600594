#include "launch/session/missing_prerequisites.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using Step = StartFailure::Step;

class MissingPrerequisitesTest : public testing::Test {
 protected:
  MissingPrerequisitesTest() {
    for (const char* name : {"gpu01", "gpu02", "gpu03", "gpu04"}) {
      const NodeId id(static_cast<std::uint32_t>(plan_.nodes.size()));
      plan_.nodes.emplace_back().name = name;
      plan_.nodes.back().id = id;
      cluster_.nodes.emplace_back().name = name;
      cluster_.nodes.back().id = id;
    }
    plan_.attempt = Attempt(1);
  }
  /// `questions`: one for each of the first nodes of the plan, in their order.
  MissingPrerequisites asked(const std::vector<PrerequisiteQuestion>& questions,
                             bool sync = false) const {
    std::map<NodeId, PrerequisiteQuestion> by_node;
    for (std::size_t i = 0; i < questions.size(); ++i)
      by_node.emplace(plan_.nodes[i].id, questions[i]);
    return {plan_, cluster_, sync, false, std::move(by_node)};
  }
  MissingPrerequisites all_nodes() const {
    return asked(std::vector<PrerequisiteQuestion>(plan_.nodes.size()));
  }
  LaunchPlan plan_;
  Cluster cluster_;
  const StartFailure workdir_{Step::workdir, ENOENT, "/home/me/job", ""};
  const StartFailure python_{Step::execute, ENOENT, "python", "/usr/bin:/bin"};
  const StartFailure script_{Step::file, ENOENT, "/home/me/job/train.py", ""};
};

TEST_F(MissingPrerequisitesTest, NothingIsMissing) {
  MissingPrerequisites missing = all_nodes();
  for (std::uint32_t node = 0; node < 4; ++node) {
    EXPECT_FALSE(missing.complete());
    missing.add(NodeId(node), {Attempt(1), {}});
    missing.add(NodeId(0), {Attempt(1), {workdir_}});     // a second answer is ignored
    missing.add(NodeId(node), {Attempt(0), {workdir_}});  // so is one of an earlier attempt
  }
  EXPECT_TRUE(missing.complete());
  EXPECT_EQ(missing.error(), std::nullopt);
}

TEST_F(MissingPrerequisitesTest, WhoHasNotAnsweredIsKnown) {
  MissingPrerequisites missing = all_nodes();
  missing.add(NodeId(1), {Attempt(1), {}});
  EXPECT_EQ(missing.awaited(), "gpu[01,03-04]");
  EXPECT_EQ(missing.by_node().at(NodeId(0)),
            std::vector<std::string>{"it did not answer the check for what the ranks need"});
  EXPECT_FALSE(missing.by_node().contains(NodeId(1)));
}

TEST_F(MissingPrerequisitesTest, OneThingIsOneLine) {
  MissingPrerequisites missing = all_nodes();
  for (std::uint32_t node = 1; node < 4; ++node)
    missing.add(NodeId(node), {Attempt(1), {workdir_}});
  EXPECT_EQ(missing.error(),
            (Error{126,
                   "gpu[02-04]: cannot enter the workdir \"/home/me/job\": No such file or "
                   "directory (it must exist on every node)"}));
}

TEST_F(MissingPrerequisitesTest, AllThatIsMissingIsToldAtOnceGroupedByThing) {
  cluster_.nodes[3].facts.output_refused = "/var/tmp: No space left on device";
  MissingPrerequisites missing = all_nodes();
  missing.add(NodeId(2), {Attempt(1), {python_}});
  missing.add(NodeId(0), {Attempt(1), {script_}});
  missing.add(NodeId(1), {Attempt(1), {python_, script_}});
  missing.add(NodeId(3), {Attempt(1), {}});
  EXPECT_TRUE(missing.complete());
  EXPECT_EQ(
      missing.error(),
      (Error{127,
             "nothing was started because of these problems:"
             "\n         gpu[01-02]: cannot read \"/home/me/job/train.py\": No such file or "
             "directory"
             "\n         gpu[02-03]: cannot execute \"python\": No such file or directory"
             "\n         PATH there: /usr/bin:/bin"
             "\n         gpu04: no folder for the output of ranks: /var/tmp: No space left on "
             "device"}));
}

TEST_F(MissingPrerequisitesTest, OnOneMachineItHasNoName) {
  plan_.nodes.resize(1);
  cluster_.nodes.resize(1);
  cluster_.nodes.front().is_launcher = true;
  MissingPrerequisites missing = asked({PrerequisiteQuestion{}});
  missing.add(NodeId(0), {Attempt(1), {{Step::file, ENOENT, "/job/trian.py", "", "", "train.py"}}});
  EXPECT_EQ(missing.error(),
            (Error{126,
                   "cannot read \"/job/trian.py\": No such file or directory, did you mean "
                   "\"train.py\"?"}));
}

TEST_F(MissingPrerequisitesTest, AModuleIsNamedWithItsInterpreter) {
  MissingPrerequisites missing = all_nodes();
  missing.add(NodeId(1),
              {Attempt(1), {{Step::module, ENOENT, "/usr/bin/python3", "", "trianer", "trainer"}}});
  EXPECT_EQ(missing.error()->message,
            "gpu02: no module \"trianer\" for /usr/bin/python3, did you mean \"trainer\"?");
}

TEST_F(MissingPrerequisitesTest, AnActiveEnvironmentThatIsNotThere) {
  const EnvironmentUse use{{"virtual environment", "/home/me/job/.venv", true, "/home/me/job"},
                           "python3",
                           {},
                           "/home/me/job/.venv/bin/python3"};
  PrerequisiteQuestion question;
  question.uses = {use};
  question.message.lookups = {{"python3", {}, use.path, {}, {}}};
  plan_.workdir = "/home/me/job";
  MissingPrerequisites missing = asked({{}, question, question, question}, true);
  const FoundProgram other{"/usr/bin/python3", "3.11", "", {}, {}};
  const FoundProgram broken{"", "", "it leads to /opt/python3: No such file or directory", {}, {}};
  missing.add(NodeId(0), {Attempt(1), {}});
  missing.add(NodeId(1), {Attempt(1), {}, {other}, {bin_of(use.environment)}});
  missing.add(NodeId(2), {Attempt(1), {}, {other}, {bin_of(use.environment)}});
  // That the program is not found is not reported a second time.
  missing.add(NodeId(3),
              {Attempt(1), {{Step::execute, ENOENT, "python3", "/usr/bin"}}, {broken}, {}});
  EXPECT_EQ(missing.error()->exit_code, 126);
  EXPECT_EQ(
      missing.error()->message,
      "nothing was started because of these problems:"
      "\n         gpu[02-03]: the virtual environment /home/me/job/.venv, active here, is not "
      "there: python3 would be /usr/bin/python3 (Python 3.11)"
      "\n         gpu04: the virtual environment /home/me/job/.venv, active here, has no usable "
      "bin/python3 there (it leads to /opt/python3: No such file or directory): python3 would not "
      "be found"
      "\n         copy it there: --set 'stage=[{from: \"/home/me/job/.venv\"}]'"
      "\n         or make it there at the same path (on gpu02: cd /home/me/job && uv sync), keep "
      "it "
      "in a folder that all nodes share, or activate one in setup"
      "\n         sync: true copies nothing that a .gitignore file names"
      "\n         to run with what the nodes have instead: --set active_env=optional");
}

TEST(PrerequisiteQuestion, LeavesOutWhatIsCopiedBeforeTheStart) {
  PrerequisiteQuestion question;
  const EnvironmentUse use{
      {"virtual environment", "/venv", false, ""}, "python3", {}, "/venv/bin/python3"};
  const EnvironmentUse other{
      {"virtual environment", "/other", false, ""}, "tool", {}, "/other/bin/tool"};
  question.uses = {use, other};
  wire::CheckPrerequisites& check = question.message;
  check.programs = {{"python3", {}}, {"/venv/bin/accelerate", {}}, {"tool", {}}, {"/venvs/x", {}}};
  check.files = {"/venv/setup.sh", "/job/setup.sh"};
  check.folders = {"/venv/bin", "/other/bin"};
  check.lookups = {{"python3", {}, use.path, {}, {}, false},
                   {"tool", {}, other.path, {}, {}, false},
                   {"python3", {}, "", {{}, "train.py", ""}, {}, true},
                   {"python2", {}, "", {{}, "train.py", ""}, {}, true}};
  leave_out({"/venv/"}, question);
  EXPECT_EQ(question.uses, (std::vector<EnvironmentUse>{other}));
  ASSERT_EQ(check.programs.size(), 2U);
  EXPECT_EQ(check.programs[0].name, "tool");
  EXPECT_EQ(check.programs[1].name, "/venvs/x");
  EXPECT_EQ(check.files, (std::vector<std::string>{"/job/setup.sh"}));
  EXPECT_EQ(check.folders, (std::vector<std::string>{"/other/bin"}));
  ASSERT_EQ(check.lookups.size(), 2U);
  EXPECT_EQ(check.lookups[0].name, "tool");
  EXPECT_EQ(check.lookups[1].name, "python2");
}

TEST_F(MissingPrerequisitesTest, WhatMayBeWhyItFailsIsANote) {
  PrerequisiteQuestion question;
  question.message.lookups = {{"python3", {}, "", {{}, "train.py", ""}, {}}};
  question.message.folders = {"/opt/venv/bin"};
  MissingPrerequisites missing = asked({question, question, question, question});
  const FoundProgram old{"/usr/bin/python3", "3.9", "", {}, {}};
  const FoundProgram young{"/usr/bin/python3", "3.11.4", "", {}, {}};
  missing.add(NodeId(0), {Attempt(1), {}, {young}, {}});
  missing.add(NodeId(1), {Attempt(1), {}, {old}, {"/opt/venv/bin"}});
  missing.add(NodeId(2), {Attempt(1), {}, {young}, {}});
  missing.add(NodeId(3), {Attempt(1), {}, {young}, {}});
  EXPECT_EQ(missing.error(), std::nullopt);
  EXPECT_EQ(missing.notes(),
            (std::vector<std::string>{
                "python3 is Python 3.11 on gpu[01,03-04], 3.9 on gpu02",
                "the environment /opt/venv, active here, is not on gpu02; this job does not seem "
                "to use it"}));
}

TEST_F(MissingPrerequisitesTest, AModuleThatOthersHave) {
  PrerequisiteQuestion question;
  question.message.lookups = {{"python3", {}, "", {{}, "train.py", ""}, {}, true}};
  MissingPrerequisites missing = asked({question, question, question, question});
  const FoundProgram with{"/usr/bin/python3", "3.11", "", {"numpy"}, {"helpers"}};
  const FoundProgram without{"/usr/bin/python3", "3.11", "", {}, {"helpers", "numpy"}};
  for (std::uint32_t node = 0; node < 4; ++node)
    missing.add(NodeId(node), {Attempt(1), {}, {node == 2 ? without : with}, {}});
  EXPECT_EQ(missing.notes(),
            (std::vector<std::string>{"gpu03: no module \"numpy\" was found for /usr/bin/python3; "
                                      "gpu[01-02,04] have it"}));
  EXPECT_EQ(missing.python_of(NodeId(2)), "/usr/bin/python3 (Python 3.11)");
}

TEST_F(MissingPrerequisitesTest, OnOneMachineThereIsLittleToAsk) {
  EXPECT_FALSE(has_remote_nodes(plan_));
  plan_.nodes[2].is_remote = true;
  EXPECT_TRUE(has_remote_nodes(plan_));
  PrerequisiteQuestion question;
  question.message.programs = {{"train", {}}};
  EXPECT_FALSE(is_worth_asking(question));
  question.message.programs.push_back({"other", {}});
  EXPECT_TRUE(is_worth_asking(question));
}

}  // namespace
}  // namespace dlaunch
