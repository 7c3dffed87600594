// The conversation before a start, with nodes that say what the test wants.
#include "launch/session/preparation.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>

#include <gmock/gmock.h>

#include "../fake_nodes.h"
#include "os/clock.h"
#include "wire/codec.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using Step = PrepareStep;

class PreparationTest : public testing::Test {
 protected:
  PreparationTest() {
    for (std::uint32_t i = 0; i < nodes_.cluster_.nodes.size(); ++i) {
      Node& node = nodes_.cluster_.nodes[i];
      node.id = id(i);
      node.is_launcher = i == 0;
      NetworkInterface interface;
      interface.name = "eth0";
      interface.is_up = true;
      interface.addresses = {{"10.0.0." + std::to_string(i + 4), 24}};
      node.facts.interfaces = {interface};
      node.facts.cores = {{0, {0}, false}};
      node.facts.reserved_ports = {21000};
    }
    spec_.command.argv = {"python3", "train.py"};
    spec_.workdir = folder_;
    context_.current_folder = "/";
    context_.run_folder = "/run-folder";
  }

  /// Numbers of nodes are not their positions.
  static NodeId id(std::uint32_t index) { return NodeId(3 * index + 1); }

  void make(PrepareSettings settings = {}) {
    PrepareListener listener;
    listener.done = [this](Prepared outcome) {
      EXPECT_FALSE(outcome_) << "told twice";
      outcome_ = std::move(outcome);
    };
    listener.copying = [this](bool begins) { heard_.push_back(begins ? "copying" : "copied"); };
    listener.synced = [this](const SyncReport&) { heard_.emplace_back("synced"); };
    listener.show = [](const std::string&) {};
    preparation_ = std::make_unique<Preparation>(loop_, spec_, std::move(settings), nodes_,
                                                 std::move(listener));
  }
  static PrepareSettings up_to(Step step) {
    PrepareSettings settings;
    settings.up_to = step;
    return settings;
  }
  void begin(std::uint32_t attempt = 0) {
    outcome_.reset();
    context_.attempt = Attempt(attempt);
    preparation_->begin(context_);
  }
  void begin(PrepareSettings settings) {
    make(std::move(settings));
    begin();
  }

  // What the nodes say.
  void tell_facts(std::uint32_t node) {
    preparation_->on(id(node), wire::Facts{{}, context_.attempt});
  }
  void all_tell_facts() {
    for (std::uint32_t i = 0; i < nodes_.cluster_.nodes.size(); ++i) tell_facts(i);
  }
  void open_door() {
    const std::uint32_t check = nodes_.sent<wire::OpenDoor>().back().second.id;
    preparation_->on(id(0), wire::DoorOpen{check, {0}});
  }
  void knocked(std::uint32_t node, int error = 0) {
    const std::uint32_t check = nodes_.sent<wire::OpenDoor>().back().second.id;
    preparation_->on(id(node), wire::Knocked{check, {{0, error, 100, "", ""}}});
  }
  void all_meet() {
    open_door();
    for (std::uint32_t i = 1; i < nodes_.cluster_.nodes.size(); ++i) knocked(i);
  }
  void checked(std::uint32_t node, std::vector<StartFailure> missing = {}) {
    preparation_->on(id(node), wire::PrerequisitesMissing{context_.attempt, std::move(missing)});
  }
  void all_checked() {
    for (std::uint32_t i = 0; i < nodes_.cluster_.nodes.size(); ++i) checked(i);
  }
  void inspected(std::uint32_t node, std::string boot_id) {
    wire::Inspected answer;
    answer.condition.boot_id = std::move(boot_id);
    preparation_->on(id(node), answer);
  }

  /// What was sent since the last call: "Knock 1", by position of the node.
  std::vector<std::string> said() {
    std::vector<std::string> lines;
    for (; said_ < nodes_.sent_.size(); ++said_) {
      const auto& [node, message] = nodes_.sent_[said_];
      lines.push_back(wire::type_name(wire::encode(message).type) +
                      (' ' + std::to_string((node.value - 1) / 3)));
    }
    return lines;
  }
  void wait_for_outcome() {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (!outcome_ && monotonic_now() < end) loop_.run_one(end);
    ASSERT_TRUE(outcome_);
  }
  /// Whatever waits in the loop is done.
  void settle() { loop_.poll(); }
  [[nodiscard]] std::string failure() const {
    if (!outcome_) return "not over";
    return outcome_->failure ? outcome_->failure->message : "";
  }

  EventLoop loop_;
  FakeNodes nodes_{3};
  JobSpec spec_;
  PlanContext context_;
  std::string folder_ = "/no/such/job";
  std::unique_ptr<Preparation> preparation_;
  std::optional<Prepared> outcome_;
  std::vector<std::string> heard_;
  std::size_t said_ = 0;
};

TEST_F(PreparationTest, TheWholeConversation) {
  begin(up_to(Step::start));
  EXPECT_THAT(nodes_.connected_, ElementsAre(Pair(id(0), Attempt(0)), Pair(id(1), Attempt(0)),
                                             Pair(id(2), Attempt(0))));
  tell_facts(2);
  tell_facts(0);
  EXPECT_THAT(said(), IsEmpty());  // not before all have told
  tell_facts(1);
  EXPECT_THAT(said(), ElementsAre("OpenDoor 0"));
  open_door();
  EXPECT_THAT(said(), ElementsAre("Knock 1", "Knock 2"));
  knocked(2);
  EXPECT_THAT(said(), IsEmpty());
  knocked(1);
  EXPECT_THAT(said(),
              ElementsAre("CloseDoor 0", "CloseDoor 1", "CloseDoor 2", "CheckPrerequisites 0",
                          "CheckPrerequisites 1", "CheckPrerequisites 2"));
  EXPECT_EQ(nodes_.cluster_.meeting->address, "10.0.0.4");
  checked(1);
  checked(0);
  EXPECT_FALSE(outcome_);
  checked(2);
  EXPECT_EQ(failure(), "");
  EXPECT_THAT(said(), IsEmpty());
  ASSERT_TRUE(outcome_->plan);
  EXPECT_EQ(outcome_->plan->master.address, "10.0.0.4");
  ASSERT_EQ(outcome_->plan->nodes.size(), 3U);
  EXPECT_EQ(outcome_->plan->nodes[2].id, id(2));
  settle();
}

/// No more than before there was one conversation: a lone node is asked for nothing but its facts.
TEST_F(PreparationTest, OnOneMachineNothingIsAskedAfterTheFacts) {
  nodes_.cluster_.nodes.resize(1);
  spec_.command.argv = {"true"};
  make();
  preparation_->facts_known(id(0), Attempt(0));
  begin();
  EXPECT_EQ(failure(), "");  // over from within begin()
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_THAT(nodes_.connected_, IsEmpty());
  EXPECT_EQ(outcome_->plan->ranks.size(), 1U);
}

TEST_F(PreparationTest, UpToTheFacts) {
  begin(up_to(Step::facts));
  all_tell_facts();
  EXPECT_EQ(failure(), "");
  EXPECT_FALSE(outcome_->plan);
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(PreparationTest, UpToTheMeeting) {
  begin(up_to(Step::meeting));
  all_tell_facts();
  all_meet();
  EXPECT_EQ(failure(), "");
  EXPECT_FALSE(outcome_->plan);
  EXPECT_EQ(nodes_.cluster_.meeting->address, "10.0.0.4");
}

TEST_F(PreparationTest, UpToThePlan) {
  begin(up_to(Step::plan));
  all_tell_facts();
  all_meet();
  ASSERT_TRUE(outcome_ && outcome_->plan);
  EXPECT_THAT(nodes_.sent<wire::CheckPrerequisites>(), IsEmpty());
}

TEST_F(PreparationTest, WithoutTryingWhereRanksMeet) {
  PrepareSettings settings = up_to(Step::plan);
  settings.try_meeting = false;
  begin(std::move(settings));
  all_tell_facts();
  ASSERT_TRUE(outcome_ && outcome_->plan);
  EXPECT_EQ(outcome_->plan->master.address, "10.0.0.4");
  EXPECT_THAT(said(), IsEmpty());
}

/// A spare has no ranks, and is to have what the first node needs. No server of PMIx is made.
TEST_F(PreparationTest, UpToThePrerequisitesEveryNodeIsAsked) {
  spec_.nodes = NodeRange{2, 2};
  spec_.framework = Framework::mpi;
  begin(up_to(Step::prerequisites));
  all_tell_facts();
  open_door();
  knocked(1);
  EXPECT_THAT(said(),
              ElementsAre("OpenDoor 0", "Knock 1", "CloseDoor 0", "CloseDoor 1",
                          "CheckPrerequisites 0", "CheckPrerequisites 1", "CheckPrerequisites 2"));
  const auto asked = nodes_.sent<wire::CheckPrerequisites>();
  EXPECT_EQ(asked[2].second, asked[0].second);
  all_checked();
  EXPECT_EQ(failure(), "");
}

TEST_F(PreparationTest, BeforeAStartOnlyNodesWithRanksAreAsked) {
  spec_.nodes = NodeRange{2, 2};
  begin(up_to(Step::start));
  all_tell_facts();
  open_door();
  knocked(1);
  said();
  EXPECT_EQ(nodes_.sent<wire::CheckPrerequisites>().size(), 2U);
  checked(0);
  checked(1);
  EXPECT_EQ(failure(), "");
}

// ---- facts

TEST_F(PreparationTest, ALaterAttemptAsksOnlyWhatMustBeAskedAgain) {
  begin(up_to(Step::plan));
  all_tell_facts();
  all_meet();
  preparation_->node_lost(id(1), "it burns");  // between the attempts
  nodes_.connected_.clear();
  begin(1);
  EXPECT_THAT(nodes_.gathered_, ElementsAre(Pair(id(0), Attempt(1)), Pair(id(2), Attempt(1))));
  EXPECT_THAT(nodes_.connected_, ElementsAre(Pair(id(1), Attempt(1))));
}

/// As in a run, where the supervisor decides when each node is asked.
TEST_F(PreparationTest, FactsThatAreKnownAreNotAskedFor) {
  make();
  for (std::uint32_t i = 0; i < 3; ++i) preparation_->facts_known(id(i), Attempt(1));
  begin(1);
  EXPECT_THAT(nodes_.connected_, IsEmpty());
  EXPECT_THAT(nodes_.gathered_, IsEmpty());
  EXPECT_THAT(said(), ElementsAre("OpenDoor 0"));
}

TEST_F(PreparationTest, FactsOfAnEarlierAttemptAreNotThoseOfThisOne) {
  begin(up_to(Step::facts));
  begin(1);
  preparation_->on(id(0), wire::Facts{{}, Attempt(0)});
  tell_facts(1);
  tell_facts(2);
  EXPECT_FALSE(outcome_);
  tell_facts(0);
  EXPECT_TRUE(outcome_);
}

TEST_F(PreparationTest, NodesThatDoNotTellTheirFactsAreNamed) {
  spec_.timeouts.connect = std::chrono::milliseconds(20);
  begin(up_to(Step::plan));
  tell_facts(1);
  wait_for_outcome();
  EXPECT_EQ(outcome_->failure->exit_code, exit_code::kNodeLost);
  EXPECT_EQ(failure(),
            "node0: " + outcome_->lost.at(id(0)) + "\n         node2: " + outcome_->lost.at(id(2)));
  EXPECT_THAT(outcome_->lost.at(id(0)), HasSubstr("no answer"));
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(PreparationTest, AllFaultsOfConnectingAreNamedTogether) {
  begin(up_to(Step::plan));
  preparation_->node_lost(id(2), "Permission denied");
  EXPECT_FALSE(outcome_);
  tell_facts(1);
  preparation_->node_lost(id(0), "No route to host");
  EXPECT_EQ(failure(), "node0: No route to host\n         node2: Permission denied");
  EXPECT_THAT(outcome_->lost,
              ElementsAre(Pair(id(0), "No route to host"), Pair(id(2), "Permission denied")));
}

// ---- conditions

TEST_F(PreparationTest, TheConditionOfNodesIsAskedAlsoBesideALostOne) {
  PrepareSettings settings = up_to(Step::prerequisites);
  settings.inspection = InspectionScope{.gpus = false, .collectives = false};
  begin(std::move(settings));
  tell_facts(0);
  preparation_->node_lost(id(1), "it burns");
  tell_facts(2);
  EXPECT_THAT(said(), ElementsAre("Inspect 0", "Inspect 2"));
  EXPECT_FALSE(nodes_.sent<wire::Inspect>()[0].second.gpus);
  inspected(0, "one");
  EXPECT_FALSE(outcome_);
  inspected(2, "two");
  EXPECT_EQ(failure(), "node1: it burns");
  ASSERT_EQ(outcome_->conditions.size(), 2U);
  EXPECT_EQ(outcome_->conditions.at(id(2)).boot_id, "two");
}

TEST_F(PreparationTest, ANodeThatIsLostWhileItIsInspectedIsNotWaitedFor) {
  PrepareSettings settings = up_to(Step::facts);
  settings.inspection = InspectionScope{};
  begin(std::move(settings));
  all_tell_facts();
  inspected(0, "one");
  inspected(1, "one");
  preparation_->node_lost(id(2), "it burns");
  EXPECT_EQ(failure(), "node2: it burns");
  EXPECT_EQ(outcome_->conditions.size(), 2U);
}

// ---- a node is lost, or the run ends

/// In each phase after the facts: what has to be said for it to be reached.
class InEachPhase : public PreparationTest, public testing::WithParamInterface<int> {
 protected:
  InEachPhase() { spec_.framework = Framework::mpi; }
  void reach_phase() {
    if (GetParam() > 0) all_tell_facts();
    if (GetParam() > 1) open_door();
    if (GetParam() > 2) {
      knocked(1);
      knocked(2);
    }
    if (GetParam() > 3) all_checked();  // the servers of PMIx are not ready yet
    said();
  }
  /// All answers that may be on their way.
  void say_everything() {
    all_tell_facts();
    if (!nodes_.sent<wire::OpenDoor>().empty()) all_meet();
    all_checked();
    for (std::uint32_t i = 0; i < 3; ++i)
      preparation_->on(id(i), wire::PmixReady{context_.attempt, ""});
    settle();
  }
  void finish_well() {
    all_tell_facts();
    all_meet();
    all_checked();
    for (std::uint32_t i = 0; i < 3; ++i)
      preparation_->on(id(i), wire::PmixReady{context_.attempt, ""});
    EXPECT_EQ(failure(), "");
    EXPECT_TRUE(outcome_->plan);
  }
};

TEST_P(InEachPhase, ANodeIsLost) {
  begin(up_to(Step::start));
  reach_phase();
  preparation_->node_lost(id(1), "it burns");
  if (GetParam() == 0) {  // the others are heard first
    EXPECT_FALSE(outcome_);
    tell_facts(0);
    tell_facts(2);
  }
  EXPECT_EQ(failure(), "node1: it burns");
  EXPECT_EQ(outcome_->failure->exit_code, exit_code::kNodeLost);
  EXPECT_THAT(outcome_->lost, ElementsAre(Pair(id(1), "it burns")));
  const auto after = said();
  EXPECT_THAT(after, Not(testing::Contains("Knock 2")));
  EXPECT_THAT(after, Not(testing::Contains("CheckPrerequisites 0")));
  say_everything();  // to `done` a second time would fail
  EXPECT_THAT(said(), IsEmpty());
}

TEST_P(InEachPhase, TheRunEnds) {
  begin(up_to(Step::start));
  reach_phase();
  preparation_->cancel();
  said();  // the door is closed
  say_everything();
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_FALSE(outcome_);
}

TEST_P(InEachPhase, ItIsPreparedAnew) {
  begin(up_to(Step::start));
  reach_phase();
  preparation_->node_lost(id(1), "it burns");
  for (const std::uint32_t node : {0U, 2U}) {  // they answer what they were asked, in any case
    if (GetParam() == 3) checked(node);
    if (GetParam() >= 3) preparation_->on(id(node), wire::PmixReady{Attempt(0), ""});
  }
  nodes_.connected_.clear();
  begin(1);
  EXPECT_THAT(nodes_.connected_, testing::Contains(Pair(id(1), Attempt(1))));
  finish_well();
}

INSTANTIATE_TEST_SUITE_P(Phases, InEachPhase, testing::Values(0, 1, 2, 3, 4));

/// The agent answers each question, and the plan may be made twice in one attempt.
TEST_F(PreparationTest, TheAnswerToAnEarlierQuestionIsNotTakenForTheLatest) {
  begin(up_to(Step::start));
  all_tell_facts();
  all_meet();
  preparation_->node_lost(id(1), "it burns");
  begin();
  tell_facts(1);
  all_meet();
  checked(0, {{StartFailure::Step::workdir, ENOENT, "/no/such/job", ""}});  // the earlier one
  checked(1);
  checked(2);
  checked(2);
  EXPECT_FALSE(outcome_);
  checked(0);
  EXPECT_EQ(failure(), "");
}

// ---- meeting and plan

TEST_F(PreparationTest, ANodeThatReachesNothingIsNamed) {
  begin(up_to(Step::start));
  all_tell_facts();
  open_door();
  knocked(1);
  knocked(2, EHOSTUNREACH);
  EXPECT_THAT(failure(), HasSubstr("node2 (No route to host)"));
  EXPECT_EQ(outcome_->failure->exit_code, exit_code::kPreflight);
  EXPECT_EQ(outcome_->failed_at, Step::meeting);
  EXPECT_THAT(outcome_->unreached, ElementsAre(id(2)));
  EXPECT_THAT(outcome_->one_of_these, IsEmpty());
  EXPECT_FALSE(outcome_->plan);
  EXPECT_THAT(nodes_.sent<wire::CheckPrerequisites>(), IsEmpty());
}

TEST_F(PreparationTest, TwoNodesThatDoNotReachEachOther) {
  nodes_.cluster_.nodes.resize(2);
  begin(up_to(Step::plan));
  all_tell_facts();
  open_door();
  knocked(1, ECONNREFUSED);
  EXPECT_THAT(failure(), HasSubstr("no address of node0 is reached by node1"));
  EXPECT_THAT(outcome_->unreached, IsEmpty());
  EXPECT_THAT(outcome_->one_of_these, ElementsAre(id(0), id(1)));
}

TEST_F(PreparationTest, AJobThatDoesNotFitIsRefusedBeforeAnythingIsTried) {
  spec_.nodes = NodeRange{7, 7};
  begin(up_to(Step::start));
  all_tell_facts();
  EXPECT_EQ(outcome_->failed_at, Step::plan);
  EXPECT_EQ(outcome_->failure->exit_code, exit_code::kJobFile);
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(PreparationTest, TheFactsMayDecideWhatTheJobBecomes) {
  PrepareSettings settings = up_to(Step::plan);
  settings.adapt = [](JobSpec& spec, const Cluster& cluster) -> Status {
    spec.processes = static_cast<int>(2 * cluster.nodes.size());
    return {};
  };
  begin(std::move(settings));
  all_tell_facts();
  all_meet();
  ASSERT_TRUE(outcome_ && outcome_->plan);
  EXPECT_EQ(outcome_->plan->ranks.size(), 6U);
}

TEST_F(PreparationTest, TheFactsMayBeARefusal) {
  PrepareSettings settings = up_to(Step::plan);
  settings.adapt = [](JobSpec&, const Cluster&) -> Status {
    return fail(exit_code::kPreflight, "too little memory");
  };
  begin(std::move(settings));
  all_tell_facts();
  EXPECT_EQ(failure(), "too little memory");
  EXPECT_EQ(outcome_->failed_at, Step::plan);
}

// ---- prerequisites

TEST_F(PreparationTest, WhatIsMissingOnTwoNodesIsOneLine) {
  begin(up_to(Step::start));
  all_tell_facts();
  all_meet();
  const StartFailure python{StartFailure::Step::execute, ENOENT, "python3", "/usr/bin"};
  checked(1, {python});
  checked(2, {python});
  checked(0);
  EXPECT_THAT(failure(), HasSubstr("node[1-2]: cannot execute \"python3\""));
  EXPECT_EQ(outcome_->failure->exit_code, exit_code::kNotFound);
  EXPECT_EQ(outcome_->failed_at, Step::prerequisites);
  EXPECT_THAT(outcome_->missing, ElementsAre(Pair(id(1), ElementsAre(HasSubstr("python3"))),
                                             Pair(id(2), ElementsAre(HasSubstr("python3")))));
}

TEST_F(PreparationTest, NodesThatDoNotSayWhatIsMissingAreNamed) {
  spec_.timeouts.connect = std::chrono::milliseconds(200);
  begin(up_to(Step::start));
  all_tell_facts();
  all_meet();
  checked(0);
  wait_for_outcome();
  EXPECT_THAT(failure(), testing::StartsWith("node[1-2]: no answer within 200 ms"));
  EXPECT_EQ(outcome_->failure->exit_code, exit_code::kNodeLost);
  EXPECT_THAT(outcome_->lost, IsEmpty());  // their sessions are fine
  EXPECT_THAT(outcome_->missing, ElementsAre(Pair(id(1), ElementsAre(HasSubstr("did not answer"))),
                                             Pair(id(2), ElementsAre(HasSubstr("did not answer")))));
}

// ---- MPI

class PreparationOfMpi : public PreparationTest {
 protected:
  PreparationOfMpi() { spec_.framework = Framework::mpi; }
  void get_ready_but_for_the_servers() {
    begin(up_to(Step::start));
    all_tell_facts();
    all_meet();
    all_checked();
    EXPECT_FALSE(outcome_);
  }
  void ready(std::uint32_t node, std::string refused = "") {
    preparation_->on(id(node), wire::PmixReady{context_.attempt, std::move(refused)});
  }
};

TEST_F(PreparationOfMpi, ServersAreMadeWhilePrerequisitesAreLookedFor) {
  begin(up_to(Step::start));
  all_tell_facts();
  all_meet();
  const auto servers = nodes_.sent<wire::PreparePmix>();
  ASSERT_EQ(servers.size(), 3U);
  EXPECT_EQ(servers[2].first, id(2));
  EXPECT_EQ(servers[2].second.own, 2U);
  EXPECT_EQ(servers[0].second.name_space, servers[2].second.name_space);
  for (std::uint32_t i = 0; i < 3; ++i) ready(i);
  EXPECT_FALSE(outcome_);
  all_checked();
  EXPECT_EQ(failure(), "");
}

TEST_F(PreparationOfMpi, AServerThatCannotBeMadeIsANoteWherePmi1WouldDo) {
  get_ready_but_for_the_servers();
  ready(0);
  ready(1, "no memory");
  ready(2);
  EXPECT_EQ(failure(), "");
  EXPECT_THAT(outcome_->plan->notes, testing::Contains(HasSubstr("node1: no memory")));
}

TEST_F(PreparationOfMpi, AServerThatCannotBeMadeIsAnErrorWhereTheJobWantsIt) {
  spec_.mpi.pmi = Mpi::Pmi::pmix;
  get_ready_but_for_the_servers();
  ready(0);
  ready(1, "no memory");
  ready(2);
  EXPECT_EQ(failure(), "node1: no memory");
  EXPECT_EQ(outcome_->failed_at, Step::start);
}

TEST_F(PreparationOfMpi, AServerThatIsNotReadyInTimeIsNamed) {
  spec_.timeouts.connect = std::chrono::milliseconds(200);
  get_ready_but_for_the_servers();
  ready(0);
  ready(2);
  wait_for_outcome();
  EXPECT_THAT(failure(), testing::StartsWith("node1: dlaunch-pmix was not ready within 200 ms"));
  EXPECT_EQ(outcome_->failure->exit_code, exit_code::kPreflight);
}

// ---- the workdir is copied

class PreparationWithSync : public PreparationTest {
 protected:
  PreparationWithSync() {
    folder_ = (std::filesystem::temp_directory_path() / "dlaunch-prepare-XXXXXX").string();
    if (::mkdtemp(folder_.data()) == nullptr) folder_.clear();
    std::ofstream(folder_ + "/train.py") << "pass\n";
    spec_.workdir = folder_;
    spec_.sync.is_on = true;
  }
  ~PreparationWithSync() override {
    preparation_.reset();  // which removes the marker
    std::filesystem::remove_all(folder_);
  }
  void work_until_asked(std::size_t times) {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (nodes_.sent<wire::SyncBegin>().size() < times && monotonic_now() < end)
      loop_.run_one(end);
    ASSERT_EQ(nodes_.sent<wire::SyncBegin>().size(), times);
  }
  /// Both other nodes have the launcher's own folder.
  void all_share() {
    for (const std::uint32_t node : {1U, 2U}) {
      const std::uint32_t pass = nodes_.sent<wire::SyncBegin>().back().second.id;
      preparation_->on(id(node), wire::SyncFolder{pass, true});
    }
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (heard_.size() < 3 && !outcome_ && monotonic_now() < end) loop_.run_one(end);
  }
};

TEST_F(PreparationWithSync, TheWorkdirGoesBeforeTheQuestionWhatIsMissing) {
  begin(up_to(Step::start));
  all_tell_facts();
  all_meet();
  work_until_asked(2);
  EXPECT_THAT(nodes_.sent<wire::CheckPrerequisites>(), IsEmpty());
  EXPECT_THAT(heard_, ElementsAre("copying"));
  all_share();
  EXPECT_THAT(heard_, ElementsAre("copying", "synced", "copied"));
  EXPECT_EQ(nodes_.sent<wire::CheckPrerequisites>().size(), 3U);
  all_checked();
  EXPECT_EQ(failure(), "");
  EXPECT_TRUE(outcome_->plan->sync);

  begin(1);  // once for each agent
  all_tell_facts();
  all_meet();
  EXPECT_EQ(nodes_.sent<wire::SyncBegin>().size(), 2U);
  EXPECT_EQ(nodes_.sent<wire::CheckPrerequisites>().size(), 6U);
}

TEST_F(PreparationWithSync, ANodeThatIsLostMeanwhileEndsTheSync) {
  begin(up_to(Step::start));
  all_tell_facts();
  all_meet();
  work_until_asked(2);
  preparation_->node_lost(id(2), "it burns");
  EXPECT_EQ(failure(), "node2: it burns");
  all_share();
  EXPECT_THAT(heard_, ElementsAre("copying"));
  begin();
  tell_facts(2);
  all_meet();
  work_until_asked(4);
}

TEST_F(PreparationWithSync, ASyncThatFailsEndsTheConversation) {
  begin(up_to(Step::start));
  all_tell_facts();
  all_meet();
  work_until_asked(2);
  const std::uint32_t pass = nodes_.sent<wire::SyncBegin>().back().second.id;
  for (const std::uint32_t node : {1U, 2U})
    preparation_->on(id(node), wire::SyncDone{pass, "No space left on device", 0, 0, {}});
  wait_for_outcome();
  EXPECT_EQ(outcome_->failed_at, Step::start);
  EXPECT_THAT(failure(), HasSubstr("No space left on device"));
  EXPECT_THAT(heard_, ElementsAre("copying"));
}

TEST_F(PreparationWithSync, BeforeNothingIsStartedNothingIsCopied) {
  begin(up_to(Step::prerequisites));
  all_tell_facts();
  all_meet();
  EXPECT_EQ(nodes_.sent<wire::CheckPrerequisites>().size(), 3U);
  settle();
  EXPECT_THAT(nodes_.sent<wire::SyncBegin>(), IsEmpty());
}

}  // namespace
}  // namespace dlaunch
