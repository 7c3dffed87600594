// Relays the messages between the PMIx servers of an attempt's nodes, and between their PMI-1
// ranks: it knows which nodes are awaited, and does not interpret the bytes. Pure.
//
// A fence is complete when every node that has members has sent its bytes; then all of them get all
// bytes, in any order (PMIx standard, pmix_server_fencenb_fn_t: "aggregated"). Fences of the same
// members follow each other on every node, so their number distinguishes them. A PMI-1 barrier is
// such a fence of all ranks; if one cannot complete, all nodes are told at once, and later ones
// fail too.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "model/launch_plan.h"
#include "wire/message.h"

namespace dlaunch {

class PmixRelay {
 public:
  struct Letter {
    std::vector<NodeId> to;
    wire::ToAgent message;
    bool operator==(const Letter&) const = default;
  };

  PmixRelay() = default;
  explicit PmixRelay(const LaunchPlan& plan);

  /// What must be sent, given this message from a node. Ignores messages of other attempts,
  /// contributions from nodes that the fence does not await, and answers of nodes that were not
  /// asked. O(nodes) for a fence.
  [[nodiscard]] std::vector<Letter> on(NodeId from, wire::PmixFence fence);
  [[nodiscard]] std::vector<Letter> on(NodeId from, const wire::PmixWanted& wanted);
  [[nodiscard]] std::vector<Letter> on(NodeId from, wire::PmixData data);

 private:
  struct Fence {
    std::vector<NodeId> nodes;
    std::set<NodeId> awaited;
    wire::PmixFence sum;
  };
  struct Question {
    NodeId asker;
    std::uint32_t id = 0;  // chosen by the requester
    NodeId answerer;
  };
  [[nodiscard]] std::vector<NodeId> nodes_of(const std::vector<RankSpan>& members) const;
  void append(const wire::PmixFence& from, wire::PmixFence& sum);
  [[nodiscard]] std::vector<Letter> contribute(NodeId from, const wire::PmixFence& fence);
  [[nodiscard]] bool is_open(bool pmi1) const;
  [[nodiscard]] std::vector<Letter> fail_pmi1(std::int32_t status);

  // PMI-1, members, number.
  using Key = std::tuple<bool, std::vector<RankSpan>, std::uint64_t>;

  Attempt attempt_;
  std::vector<NodeId> node_of_rank_;
  std::vector<NodeId> nodes_;  // that have ranks
  std::map<Key, Fence> fences_;
  bool pmi1_failed_ = false;
  std::size_t held_ = 0;                         // bytes in fences_
  std::map<std::uint32_t, Question> questions_;  // by the id that we assigned
  std::uint32_t next_question_ = 0;
};

}  // namespace dlaunch
