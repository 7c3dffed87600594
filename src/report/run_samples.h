// What the nodes of a run used, and the values of its metrics, over time: samples.json. Its size is
// bounded: when there are too many samples, each pair is merged into one. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/launch_plan.h"
#include "model/pulse.h"
#include "model/time.h"

namespace dlaunch {

/// Times count from the start of the run.
class RunSamples {
 public:
  /// `metrics`: the names of the metrics; MetricPulse::metric is an index into them.
  explicit RunSamples(std::vector<std::string> metrics);

  /// Call it when an attempt's ranks are told to start. The samples of earlier attempts are kept.
  void begin(const LaunchPlan& plan, MonotonicTime at);
  /// Adds a pulse of the running attempt. It covers the time since the node's previous pulse.
  void add(NodeId node, const NodePulse& pulse, const std::vector<RankPulse>& ranks,
           MonotonicTime at);
  [[nodiscard]] bool empty() const { return rows_ == 0; }
  /// docs/reference/run-folder.md has the members. `started`: when the run started.
  [[nodiscard]] std::string json(WallTime started) const;

 private:
  /// What a node, or all its ranks together, used in one time step.
  struct Use {
    float seen = 0;  // seconds that pulses cover, as gpu_seen for GPUs; 0: nothing is known
    float cpu = 0;   // core-seconds
    float gpu = 0;   // percent * seconds
    float gpu_seen = 0;
    float output = 0;   // bytes
    float network = 0;  // bytes
    float memory = 0;   // bytes, maximum
    float gpu_memory = 0;
    void add(const Use& other);
  };
  struct OfNode {
    std::string name;
    std::uint32_t cores = 0;
    MonotonicTime heard{0};       // arrival of its last pulse
    std::uint64_t network = 0;    // NodePulse::network_bytes in that pulse; 0: none
    MonotonicTime network_at{0};  // when a pulse first had that value, which agents read less often
    std::vector<Use> uses;
  };
  /// What the last pulse of a rank has said.
  struct OfRank {
    Rank rank;
    std::int32_t gpu_percent = -1;  // the members are those of RankPulse
    std::uint64_t output = 0;
    std::uint64_t cpu_ms = 0;
    std::uint64_t memory = 0;
    std::uint64_t gpu_memory = 0;
    bool has_processes = false;
  };
  struct Value {
    double low = 0;
    double high = 0;
    double mean = 0;
    std::uint64_t count = 0;
    void add(const Value& other);
  };

  [[nodiscard]] std::size_t most_rows() const;
  [[nodiscard]] std::size_t row_of(MonotonicTime at) const;
  void make_room(MonotonicTime at);
  void spread(OfNode& node, const Use& use, MonotonicTime from, MonotonicTime to);
  [[nodiscard]] Use use_of_ranks(NodeId id, const std::vector<RankPulse>& ranks);
  void note_network(OfNode& node, std::uint64_t bytes, MonotonicTime at);
  [[nodiscard]] OfRank* find(NodeId node, Rank rank);
  void note_metrics(const RankPulse& rank, MonotonicTime at);

  std::vector<std::string> metric_names_;
  MonotonicTime step_ = std::chrono::seconds(1);
  std::size_t rows_ = 0;
  std::vector<OfNode> nodes_;                          // in order of their first appearance
  std::map<NodeId, std::size_t> places_;               // of the attempt: index into nodes_
  std::map<NodeId, std::vector<OfRank>> ranks_;        // of the attempt, ascending
  std::vector<std::vector<Value>> metrics_;            // index = metric, then row
};

}  // namespace dlaunch
