// Both ends of a staging in one process, with several nodes that feed each other, of which some are
// lost.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>

#include <gmock/gmock.h>

#include "node/stage/stage_run.h"
#include "node/stage/stage_service.h"
#include "os/clock.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr std::chrono::seconds kLongEnough{30};
constexpr std::uint64_t kSize = 3'000'000;

class StageChainTest : public testing::Test {
 protected:
  StageChainTest() {
    EXPECT_NE(::mkdtemp(base_), nullptr);
    std::ofstream(path("from")) << text('x');
  }
  ~StageChainTest() override {
    run_.reset();
    nodes_.clear();
    fs::remove_all(base_);
  }

  static std::string text(char letter) {
    std::string text(kSize, letter);
    for (std::size_t i = 0; i < text.size(); i += 1000) text[i] = static_cast<char>('a' + i % 23);
    return text;
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return std::string(base_) + '/' + name;
  }
  [[nodiscard]] std::string root_of(std::size_t node) const {
    return path("node" + std::to_string(node));
  }
  [[nodiscard]] std::string on(std::size_t node) const {
    std::ifstream file(root_of(node) + "/to/data", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] bool has_part(std::size_t node) const {
    std::error_code error;
    for (const auto& one : fs::directory_iterator(root_of(node) + "/to", error)) {
      if (fs::file_size(one.path()) > 0) return true;
    }
    return false;
  }

  struct OneNode {
    Environment env;
    std::optional<StageService> service;
    bool is_mute = false;
    bool is_lost = false;
  };
  void begin(std::size_t nodes, StageRunSettings settings = {}) {
    nodes_.resize(std::max(nodes, nodes_.size()));
    for (std::size_t i = 0; i < nodes; ++i) {
      settings.nodes.push_back({id(i), "gpu" + std::to_string(i)});
      if (nodes_[i]) continue;
      nodes_[i] = std::make_unique<OneNode>();
      fs::create_directories(root_of(i) + "/home");
      nodes_[i]->env = {{"HOME", root_of(i) + "/home"}};
      nodes_[i]->service.emplace(loop_, nodes_[i]->env, [this, i](wire::StageAnswer answer) {
        loop_.post([this, i, answer = std::move(answer)] {
          if (nodes_[i]->is_lost || nodes_[i]->is_mute) return;
          std::visit([&](const auto& one) { run_->on(id(i), one); }, answer);
        });
      });
    }
    settings.items = {{path("from"), "/to/data"}};
    settings.by = "run a";
    settings.addresses = [](std::size_t, std::size_t) {
      return std::vector<std::string>{"127.0.0.1"};
    };
    report_.reset();
    run_.emplace(
        loop_,
        StageRun::Callbacks{
            .send = [this](NodeId node, wire::StageOrder order) { send(node, std::move(order)); },
            .done = [this](Result<StageReport> said) { report_ = std::move(said); },
            .show = [](const std::string&) {},
            .note = [this](const std::string& text) { notes_.push_back(text); }});
    run_->begin(std::move(settings));
  }
  static NodeId id(std::size_t node) { return NodeId(static_cast<std::uint32_t>(node)); }

  /// As over a channel: later. Each node has folders of its own.
  void send(NodeId node, wire::StageOrder order) {
    EXPECT_FALSE(nodes_[node.value]->is_lost);
    if (changes_ > 0 && std::holds_alternative<wire::StageEntries>(order)) change();
    if (std::holds_alternative<wire::StageServe>(order)) ++serves_;
    if (holds_ && std::holds_alternative<wire::StageData>(order) && ++pieces_ > 1) {
      held_.emplace_back(node, std::move(order));
      return;
    }
    loop_.post([this, node, order = std::move(order)]() mutable {
      OneNode& to = *nodes_[node.value];
      if (auto* const begin = std::get_if<wire::StageBegin>(&order)) {
        for (std::string& root : begin->roots) root.insert(0, root_of(node.value));
        for (StageOrigin& origin : begin->origins) origin.target.insert(0, root_of(node.value));
      }
      std::visit([&](auto& one) { to.service->on(one); }, order);
    });
  }
  /// The file's content and size.
  void change() {
    --changes_;
    content_ += std::to_string(changes_);
    std::ofstream(path("from")) << content_;
  }
  /// Only the first piece of the stream leaves the launcher, until let_go().
  void hold() {
    holds_ = true;
    pieces_ = 0;
  }
  void let_go() {
    holds_ = false;
    for (auto& [node, order] : std::exchange(held_, {})) {
      if (!nodes_[node.value]->is_lost) send(node, std::move(order));
    }
  }
  void lose(std::size_t node) {
    nodes_[node]->is_lost = true;
    run_->node_lost(id(node));
  }
  template <class Holds>
  void run_until(const Holds& holds) {
    const MonotonicTime end = monotonic_now() + kLongEnough;
    while (!holds() && monotonic_now() < end) loop_.run_one(end);
    ASSERT_TRUE(holds());
  }
  /// Begins; the first piece has arrived everywhere.
  void begin_and_hold(std::size_t nodes) {
    hold();
    begin(nodes);
    run_until([&] {
      for (std::size_t i = 0; i < nodes; ++i) {
        if (!has_part(i)) return false;
      }
      return true;
    });
  }
  /// By node that has the files: who fed it last.
  std::vector<std::pair<std::string, std::string>> end() {
    std::vector<std::pair<std::string, std::string>> sources;
    run_until([&] { return report_.has_value(); });
    if (!report_) return {{"no end", ""}};
    if (!*report_) return {{report_->error().message, ""}};
    for (const StagedNode& node : (*report_)->nodes) sources.emplace_back(node.name, node.source);
    return sources;
  }
  [[nodiscard]] std::uint64_t sent_from_here() const {
    std::uint64_t bytes = 0;
    for (const StagedNode& node : (*report_)->nodes) bytes += node.from_launcher;
    return bytes;
  }
  void expect_files(const std::set<std::size_t>& nodes) const {
    for (const std::size_t node : nodes) EXPECT_TRUE(on(node) == text('x')) << node;
  }

  char base_[32] = "/tmp/dlaunch-chain-XXXXXX";
  EventLoop loop_;
  std::vector<std::unique_ptr<OneNode>> nodes_;
  std::optional<StageRun> run_;
  std::optional<Result<StageReport>> report_;
  std::vector<std::string> notes_;
  std::string content_ = text('x');
  int serves_ = 0;   // how many StageServe
  int changes_ = 0;  // the file changes so many times when it was listed
  bool holds_ = false;
  int pieces_ = 0;
  std::vector<std::pair<NodeId, wire::StageOrder>> held_;
};

TEST_F(StageChainTest, ANodeIsLostInTheMiddle) {
  begin_and_hold(4);
  lose(1);
  let_go();
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", ""), Pair("gpu2", "gpu0"), Pair("gpu3", "gpu2")));
  expect_files({0, 2, 3});
  EXPECT_EQ(sent_from_here(), kSize) << "nothing twice";
  EXPECT_THAT((*report_)->notes,
              ElementsAre("stage: gpu1 could not feed gpu2 (it is lost); gpu0 fed it instead"));
}

TEST_F(StageChainTest, TheFirstNodeIsLost) {
  begin_and_hold(3);
  lose(0);
  let_go();
  EXPECT_THAT(end(), ElementsAre(Pair("gpu1", ""), Pair("gpu2", "gpu1")));
  expect_files({1, 2});
  EXPECT_EQ((*report_)->nodes.at(0).bytes, kSize);
}

TEST_F(StageChainTest, TheFirstNodeIsLostThatHasAConnectionToHere) {
  StageRunSettings settings;
  settings.own_addresses = [](std::size_t) { return std::vector<std::string>{"127.0.0.1"}; };
  begin(3, std::move(settings));
  run_until([this] { return has_part(0); });
  lose(0);
  EXPECT_THAT(end(), ElementsAre(Pair("gpu1", ""), Pair("gpu2", "gpu1")));
  expect_files({1, 2});
}

TEST_F(StageChainTest, TheLastNodeIsLost) {
  begin_and_hold(3);
  lose(2);
  let_go();
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", ""), Pair("gpu1", "gpu0")));
  expect_files({0, 1});
}

TEST_F(StageChainTest, TheLastNodeIsLostWhenTheOthersAreDone) {
  begin_and_hold(2);
  nodes_[1]->is_mute = true;
  let_go();
  run_until([this] { return on(0).size() == kSize; });
  loop_.poll();
  EXPECT_FALSE(report_);
  lose(1);
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", "")));
}

TEST_F(StageChainTest, TwoNodesAreLostAtOnce) {
  begin_and_hold(4);
  lose(1);
  lose(2);
  let_go();
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", ""), Pair("gpu3", "gpu0")));
  expect_files({0, 3});
  EXPECT_EQ(sent_from_here(), kSize) << "lost nodes do not count as connections that fail";
}

TEST_F(StageChainTest, NodesAreLostBeforeAnythingIsSent) {
  begin(3);
  lose(1);
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", ""), Pair("gpu2", "gpu0")));
  expect_files({0, 2});
}

TEST_F(StageChainTest, WhatALostNodeLacksIsNotSent) {
  begin(1);
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", "")));
  begin(2);
  lose(1);
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", "")));
  EXPECT_EQ(sent_from_here(), 0U);
}

TEST_F(StageChainTest, WithoutANodeItEnds) {
  begin_and_hold(2);
  lose(0);
  lose(1);
  EXPECT_THAT(end(), ElementsAre(Pair("stage: no node is left", "")));
  EXPECT_EQ(report_->error().exit_code, exit_code::kNodeLost);
}

// ---- files that change meanwhile

TEST_F(StageChainTest, AFileThatChangesIsReadAgain) {
  changes_ = 1;
  begin(2);
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", ""), Pair("gpu1", "gpu0")));
  EXPECT_THAT(notes_, ElementsAre("stage: " + path("from") +
                                  ": changed while it was copied; it is read again"));
  EXPECT_TRUE(on(0) == content_);
  EXPECT_TRUE(on(1) == content_);
}

TEST_F(StageChainTest, AFileThatKeepsChangingIsAnError) {
  changes_ = 5;
  begin(1);
  EXPECT_THAT(end(),
              ElementsAre(Pair("stage: " + path("from") + ": changed while it was copied", "")));
  EXPECT_EQ(report_->error().exit_code, exit_code::kPreflight);
  EXPECT_THAT(notes_, testing::SizeIs(1));
}

TEST_F(StageChainTest, NodesThatWereLostStayOut) {
  changes_ = 1;
  begin(2);
  lose(1);
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", "")));
  EXPECT_THAT(notes_, testing::SizeIs(1));
}

// ---- nodes that have everything

TEST_F(StageChainTest, ANodeThatHasEverythingFeedsTheOneThatLacksIt) {
  begin(1);
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", "")));
  begin(3);
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", ""), Pair("gpu1", "gpu0"), Pair("gpu2", "gpu1")));
  expect_files({0, 1, 2});
  EXPECT_EQ(sent_from_here(), 0U);
  EXPECT_EQ((*report_)->nodes.at(0).bytes, 0U);
  EXPECT_EQ((*report_)->nodes.at(1).bytes, kSize);
}

TEST_F(StageChainTest, SoDoesOneThatComesLaterInTheList) {
  begin(2);
  EXPECT_THAT(end(), testing::SizeIs(2));
  fs::remove_all(root_of(0) + "/to");
  begin(2);
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", "gpu1"), Pair("gpu1", "")));
  expect_files({0, 1});
  EXPECT_EQ(sent_from_here(), 0U);
}

TEST_F(StageChainTest, NodesThatLackNothingGetNothing) {
  begin(2);
  EXPECT_THAT(end(), testing::SizeIs(2));
  serves_ = 0;
  begin(3);
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", ""), Pair("gpu1", ""), Pair("gpu2", "gpu1")));
  EXPECT_EQ(serves_, 1);
}

TEST_F(StageChainTest, TheSourceNeedsNoOtherNodeForItsOwnCopy) {
  begin(2);
  EXPECT_THAT(end(), testing::SizeIs(2));
  fs::remove_all(root_of(0) + "/to");
  serves_ = 0;
  StageRunSettings settings;
  settings.self = "gpu0";
  begin(2, std::move(settings));
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", "gpu0"), Pair("gpu1", "gpu0")));
  EXPECT_EQ(serves_, 0);
}

TEST_F(StageChainTest, AnotherFileOfTheSameSizeAndTimeIsNotPassedOn) {
  begin(1);
  EXPECT_THAT(end(), testing::SizeIs(1));
  const auto time = fs::last_write_time(root_of(0) + "/to/data");
  std::ofstream(root_of(0) + "/to/data") << text('y');
  fs::last_write_time(root_of(0) + "/to/data", time);
  begin(2);
  EXPECT_THAT(end(), ElementsAre(Pair("gpu0", ""), Pair("gpu1", "")));
  EXPECT_THAT(notes_,
              ElementsAre("stage: gpu1: " + root_of(1) +
                          "/to/data: what came from gpu0 differs from the source: it may have "
                          "another file of the same size and time, which stays until you remove it "
                          "there. The staging begins again without its help"));
  EXPECT_TRUE(on(0) == text('y'));
  expect_files({1});
}

}  // namespace
}  // namespace dlaunch
