// Nodes for tests: they record what they are sent, and send nothing by themselves.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/session/nodes.h"

namespace dlaunch {

class FakeNodes : public Nodes {
 public:
  explicit FakeNodes(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      Node& node = cluster_.nodes.emplace_back();
      node.id = NodeId(i);
      node.name = node.address = "node" + std::to_string(i);
    }
  }

  void connect(NodeId node, Attempt attempt, Duration) override {
    connected_.emplace_back(node, attempt);
  }
  void gather(NodeId node, Attempt attempt) override { gathered_.emplace_back(node, attempt); }
  void send(NodeId node, const wire::ToAgent& message) override {
    sent_.emplace_back(node, message);
  }
  void release(NodeId node) override { released_.push_back(node); }
  [[nodiscard]] const Cluster& cluster() const override { return cluster_; }
  void set_meeting(std::optional<Meeting> meeting) override {
    cluster_.meeting = std::move(meeting);
  }
  [[nodiscard]] NodeClock* clock(NodeId node) override { return &clocks_[node]; }

  void set_prompts(Prompts prompts) override { prompts_ = std::move(prompts); }
  void user_asked() override { ++asked_; }

  /// What was sent of this kind, with the node, in order.
  template <class Message>
  [[nodiscard]] std::vector<std::pair<NodeId, Message>> sent() const {
    std::vector<std::pair<NodeId, Message>> found;
    for (const auto& [node, message] : sent_) {
      if (const auto* one = std::get_if<Message>(&message)) found.emplace_back(node, *one);
    }
    return found;
  }

  Cluster cluster_;
  std::map<NodeId, NodeClock> clocks_;
  std::vector<std::pair<NodeId, wire::ToAgent>> sent_;
  std::vector<std::pair<NodeId, Attempt>> connected_;
  std::vector<std::pair<NodeId, Attempt>> gathered_;
  std::vector<NodeId> released_;
  Prompts prompts_;
  int asked_ = 0;
};

}  // namespace dlaunch
