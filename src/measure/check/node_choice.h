// Chooses the hosts that a job runs on from a check's report. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/check_report.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// The least and the best number of nodes for a job, and the number of hosts from which they and
/// the spares are chosen: all hosts, if the job does not say.
struct NodesWanted {
  std::size_t least = 1;
  std::size_t best = 1;
  std::size_t hosts = 1;  // the first ones, among which the nodes are chosen
  bool operator==(const NodesWanted&) const = default;
};
[[nodiscard]] NodesWanted nodes_wanted(const JobSpec& spec, std::size_t hosts);

struct NodeChoice {
  std::vector<std::uint32_t> nodes;     // of the report, ascending
  std::vector<std::uint32_t> spares{};  // further good nodes, likewise
  std::vector<std::string> notes;       // which nodes were left out or replaced, and why
  bool operator==(const NodeChoice&) const = default;
};

/// The first good nodes in the order of the report, up to the number wanted, but never both ends of
/// a slow link. Errors (exit_code::kPreflight): too few good nodes, or a fault of all of them.
[[nodiscard]] Result<NodeChoice> choose_nodes(const NodesWanted& wanted, const CheckReport& report);

/// Which parts of the network were not measured, and why, one sentence each.
[[nodiscard]] std::vector<std::string> unmeasured_notes(const CheckReport& report);

/// Restricts the job to these hosts: its nodes, then its spares. nodes.min stays, so that the job
/// may shrink.
void settle_nodes(const NodeChoice& choice, JobSpec& spec);

}  // namespace dlaunch
