// What a check has found: of single nodes, of links, and of all together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/node_condition.h"

namespace dlaunch {

struct CheckFinding {
  enum class Severity { bad, note };
  Severity severity = Severity::bad;
  std::vector<std::uint32_t>
      nodes;           // whose it is; two: the link between them; none: of all together
  std::string code;    // stable name, docs/check.md: "connect", "driver", "slow-link"
  std::string text;    // "driver 535.10, the other 3 have 550.54"
  std::string remedy;  // what to do; may be empty
  bool operator==(const CheckFinding&) const = default;
};

/// A node as a check has seen it.
struct CheckedNode {
  std::string name;
  std::string failure;  // why it cannot be reached, in one line or more; empty: it answered
  NodeFacts facts;
  NodeCondition condition;
  std::vector<std::string> missing;  // of what the job needs: `cannot execute "python3": ...`
  std::optional<std::int64_t> clock_offset_ns;  // the node's clock less ours; nullopt: not known
  std::int64_t clock_error_ns = 0;              // the most by which it may be wrong
  bool operator==(const CheckedNode&) const = default;
};

/// What was measured of a node.
struct NodeFigures {
  double compute = 0;          // in the unit of CheckReport::compute_unit; 0: not measured
  double memory_gbs = 0;       // 10^9 bytes/s
  double exchange_gbs = 0;     // best with any other node, each way at once
  double exchange_us = 0;      // best latency with any other node
  bool in_all_reduce = false;  // took part in it
  bool operator==(const NodeFigures&) const = default;
};

struct CheckReport {
  std::vector<CheckedNode> nodes;  // index = node
  std::vector<CheckFinding> findings;
  std::vector<NodeFigures> figures;      // index = node; empty: nothing was measured
  std::string not_measured;              // why, in one sentence; empty: it was
  std::size_t exchanges = 0;             // between two nodes that were measured in rounds
  std::optional<double> all_reduce_gbs;  // bus bandwidth of all good nodes together
  double all_reduce_bytes = 0;           // of its buffers
  std::optional<double> expected_gbs;    // that it should reach
  std::string backend;                   // "mpi: Open MPI v4.1.4"
  std::int64_t took_ms = 0;
  bool operator==(const CheckReport&) const = default;
};

/// Those that no finding calls bad; a bad link spoils neither of its ends.
[[nodiscard]] std::vector<std::uint32_t> good_nodes(const CheckReport&);
[[nodiscard]] bool is_bad(const CheckReport&, std::uint32_t node);
/// Anything at all.
[[nodiscard]] bool is_bad(const CheckReport&);

}  // namespace dlaunch
