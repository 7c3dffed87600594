// Nodes that are lost while files are staged, with nodes that answer as agents do.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>

#include <gmock/gmock.h>

#include "../fake_nodes.h"
#include "launch/session/preparation.h"
#include "os/clock.h"
#include "wire/codec.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Step = PrepareStep;

class PreparationWithStage : public testing::Test {
 protected:
  PreparationWithStage() {
    EXPECT_NE(::mkdtemp(folder_), nullptr);
    for (Node& node : nodes_.cluster_.nodes) node.facts.cores = {{0, {0}, false}};
    spec_.command.argv = {"/bin/true"};
    spec_.workdir = "/";
    spec_.framework = Framework::none;
    spec_.stage = {{folder_, "/local/data", false}};
    context_.current_folder = "/";
  }
  ~PreparationWithStage() override {
    preparation_.reset();
    std::filesystem::remove_all(folder_);
  }

  void make(Step up_to) {
    PrepareSettings settings;
    settings.up_to = up_to;
    settings.try_meeting = false;
    PrepareListener listener;
    listener.done = [this](Prepared outcome) { outcome_ = std::move(outcome); };
    listener.copying = [](bool) {};
    listener.staged = [this](const StageReport& report) {
      std::vector<std::string> names;
      for (const StagedNode& node : report.nodes) names.push_back(node.name);
      staged_.push_back(std::move(names));
    };
    listener.show = [](const std::string&) {};
    listener.note = [](const std::string&) {};
    preparation_ = std::make_unique<Preparation>(loop_, spec_, std::move(settings), nodes_,
                                                 std::move(listener));
  }
  void begin() {
    outcome_.reset();
    preparation_->begin(context_);
    for (const Node& node : nodes_.cluster_.nodes)
      preparation_->facts_known(node.id, context_.attempt);
  }

  void answer(NodeId, const auto&) {}
  void answer(NodeId node, const wire::StageBegin& begin) {
    preparation_->on(node, wire::StageClaimed{begin.id, "", ""});
  }
  void answer(NodeId node, const wire::StageEntries& entries) {
    preparation_->on(node, wire::StageWants{entries.id, {}, {}, 0, true});
  }
  void answer(NodeId node, const wire::StageStream& stream) {
    preparation_->on(node, wire::StageReady{stream.id});
  }
  void answer(NodeId node, const wire::StageFeed& feed) {
    if (slow_.contains(node)) {
      held_.emplace_back(node, feed);
    } else {
      preparation_->on(node, wire::StageDone{feed.id, "", 0, 0});
    }
  }
  void answer(NodeId node, const wire::CheckPrerequisites&) {
    preparation_->on(node, wire::PrerequisitesMissing{context_.attempt, {}});
  }
  template <class Holds>
  void run_until(const Holds& holds) {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (!holds() && monotonic_now() < end) {
      for (; answered_ < nodes_.sent_.size(); ++answered_) {
        const auto [node, message] = nodes_.sent_[answered_];
        if (lost_.contains(node)) continue;
        std::visit([this, to = node](const auto& one) { this->answer(to, one); }, message);
      }
      if (!holds()) loop_.run_one(std::min(end, monotonic_now() + std::chrono::milliseconds(50)));
    }
    ASSERT_TRUE(holds());
  }
  /// Begins; all nodes are fed, and these do not end.
  void begin_and_hold(const std::set<NodeId>& nodes) {
    slow_ = nodes;
    begin();
    run_until([&] { return held_.size() == nodes.size(); });
  }
  void let_go() {
    slow_.clear();
    for (const auto& [node, feed] : std::exchange(held_, {})) {
      if (!lost_.contains(node)) answer(node, feed);
    }
  }
  void lose(NodeId node) {
    lost_.insert(node);
    preparation_->node_lost(node, "it burns");
  }
  [[nodiscard]] std::string failure() const {
    if (!outcome_) return "not over";
    return outcome_->failure ? outcome_->failure->message : "";
  }

  char folder_[32] = "/tmp/dlaunch-prepare-XXXXXX";
  EventLoop loop_;
  FakeNodes nodes_{3};
  JobSpec spec_;
  PlanContext context_;
  std::unique_ptr<Preparation> preparation_;
  std::optional<Prepared> outcome_;
  std::vector<std::vector<std::string>> staged_;
  std::set<NodeId> slow_;
  std::set<NodeId> lost_;
  std::vector<std::pair<NodeId, wire::StageFeed>> held_;
  std::size_t answered_ = 0;
};

TEST_F(PreparationWithStage, TheOthersGetTheFilesBeforeTheLossIsReported) {
  make(Step::copies);
  begin_and_hold({NodeId(0), NodeId(1), NodeId(2)});
  lose(NodeId(1));
  EXPECT_EQ(failure(), "not over");
  let_go();
  run_until([this] { return outcome_.has_value(); });
  EXPECT_THAT(staged_, ElementsAre(ElementsAre("node0", "node2")));
  EXPECT_EQ(failure(), "node1: it burns\n         the other nodes have the files");
  EXPECT_EQ(outcome_->failure->exit_code, exit_code::kNodeLost);
  EXPECT_THAT(outcome_->lost, ElementsAre(Pair(NodeId(1), "it burns")));
}

TEST_F(PreparationWithStage, TheirFailureIsReportedBesideTheLoss) {
  make(Step::copies);
  begin_and_hold({NodeId(0), NodeId(1), NodeId(2)});
  lose(NodeId(1));
  preparation_->on(NodeId(2), wire::StageDone{held_.at(0).second.id, "/local: it is full", 0, 0});
  EXPECT_EQ(failure(),
            "node1: it burns\n         stage: files cannot be copied; nothing was "
            "started\n         node2: /local: it is full");
  EXPECT_EQ(outcome_->failure->exit_code, exit_code::kNodeLost);
}

TEST_F(PreparationWithStage, AllAreLost) {
  make(Step::copies);
  begin_and_hold({NodeId(0), NodeId(1), NodeId(2)});
  for (std::uint32_t i = 0; i < 3; ++i) lose(NodeId(i));
  EXPECT_THAT(failure(), testing::StartsWith("node0: it burns\n         node1: it burns\n"));
  EXPECT_THAT(staged_, IsEmpty());
}

TEST_F(PreparationWithStage, ARunIsToldAtOnceAndFindsTheStagingUnderWay) {
  make(Step::start);
  begin_and_hold({NodeId(0), NodeId(1), NodeId(2)});
  lose(NodeId(1));
  EXPECT_EQ(failure(), "node1: it burns");
  EXPECT_THAT(nodes_.sent<wire::StageOver>(), IsEmpty()) << "the staging goes on";

  // A spare takes its place.
  nodes_.cluster_.nodes[1].id = NodeId(7);
  nodes_.cluster_.nodes[1].name = "spare";
  begin();
  loop_.poll();
  EXPECT_EQ(nodes_.sent<wire::StageBegin>().size(), 3U) << "it does not begin again";
  let_go();
  run_until([this] { return outcome_.has_value(); });
  EXPECT_EQ(failure(), "");
  EXPECT_THAT(staged_,
              ElementsAre(ElementsAre("node0", "node2"), ElementsAre("node0", "spare", "node2")));
}

TEST_F(PreparationWithStage, ItEndsIfAllNodesThatAreLeftHaveTheFiles) {
  make(Step::start);
  begin();
  run_until([this] { return outcome_.has_value(); });
  lose(NodeId(1));
  nodes_.cluster_.nodes[1].id = NodeId(7);
  nodes_.cluster_.nodes[1].name = "spare";
  begin_and_hold({NodeId(0), NodeId(7), NodeId(2)});
  lose(NodeId(7));
  EXPECT_EQ(failure(), "spare: it burns");

  // No node takes its place.
  const std::size_t before = nodes_.sent<wire::StageOver>().size();
  nodes_.cluster_.nodes.erase(nodes_.cluster_.nodes.begin() + 1);
  begin();
  run_until([this] { return outcome_.has_value(); });
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(nodes_.sent<wire::StageOver>().size(), before + 2);
  EXPECT_EQ(nodes_.sent<wire::StageBegin>().size(), 6U) << "it does not begin again";
}

TEST_F(PreparationWithStage, ItMayEndBeforeTheRunGoesOn) {
  make(Step::start);
  begin_and_hold({NodeId(0), NodeId(1), NodeId(2)});
  lose(NodeId(1));
  let_go();
  run_until([this] { return staged_.size() == 1; });
  EXPECT_THAT(staged_, ElementsAre(ElementsAre("node0", "node2")));
  lost_.clear();  // it has returned
  begin();
  run_until([this] { return outcome_.has_value(); });
  EXPECT_EQ(failure(), "");
  EXPECT_THAT(staged_.back(), ElementsAre("node0", "node1", "node2"));
}

TEST_F(PreparationWithStage, TheEndOfTheRunEndsIt) {
  make(Step::start);
  begin_and_hold({NodeId(0), NodeId(1), NodeId(2)});
  lose(NodeId(1));
  preparation_->cancel();
  EXPECT_EQ(nodes_.sent<wire::StageOver>().size(), 2U);
  let_go();
  loop_.poll();
  EXPECT_THAT(staged_, IsEmpty());
}

// ---- files of a node

TEST_F(PreparationWithStage, TheAgentThatStagesIsToldOfALostNode) {
  spec_.stage = {{"node0:/data", "/local/data", false}};
  make(Step::copies);
  begin();
  run_until([this] { return !nodes_.sent<wire::StageFrom>().empty(); });
  const std::uint32_t id = nodes_.sent<wire::StageFrom>().front().second.id;
  lose(NodeId(1));
  EXPECT_THAT(nodes_.sent<wire::StageLost>(),
              ElementsAre(Pair(NodeId(0), wire::StageLost{id, NodeId(1)})));
  preparation_->on(
      NodeId(0), wire::StageReported{id, 0, "", {{NodeId(2), "node2", 4, 0, 0, ""}}, 1, 4, {}, {}});
  EXPECT_THAT(staged_, ElementsAre(ElementsAre("node2")));
  EXPECT_EQ(failure(), "node1: it burns\n         the other nodes have the files");
}

TEST_F(PreparationWithStage, WithoutItsSourceAnItemEndsAndTheOthersGoOn) {
  spec_.stage = {{"node0:/data", "/local/data", false}, {folder_, "/local/more", false}};
  make(Step::copies);
  begin();
  run_until([this] { return !nodes_.sent<wire::StageFrom>().empty(); });
  lose(NodeId(0));
  run_until([this] { return outcome_.has_value(); });
  EXPECT_THAT(staged_, ElementsAre(ElementsAre("node1", "node2"))) << "the second line";
  EXPECT_EQ(failure(),
            "node0: it burns\n         stage: from node0: that node is lost; what has arrived "
            "stays, and the next staging goes on from it");
}

}  // namespace
}  // namespace dlaunch
