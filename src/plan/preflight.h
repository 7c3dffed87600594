// Which of the hosts a job runs on, after they were checked. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/check_report.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// How many of `hosts` nodes the job is to have: at least, at best; and how many more may be looked
/// at (spares). All hosts, where the job says nothing.
struct NodesWanted {
  std::size_t least = 1;
  std::size_t best = 1;
  std::size_t hosts = 1;  // the first ones, of which the nodes are chosen
  bool operator==(const NodesWanted&) const = default;
};
[[nodiscard]] NodesWanted nodes_wanted(const JobSpec& spec, std::size_t hosts);

struct NodeChoice {
  std::vector<std::uint32_t> nodes;  // of the report, ascending
  std::vector<std::string> notes;    // who was left out or replaced, and why: a sentence each
  bool operator==(const NodeChoice&) const = default;
};

/// The first good ones, as many as there can be; never both ends of a slow link. Errors:
/// exit_code::kPreflight where there are too few, or where something is wrong with all together.
[[nodiscard]] Result<NodeChoice> choose_nodes(const NodesWanted& wanted, const CheckReport& report);

/// What of the network was not measured, and why, a sentence each: the choice does not rest on it.
[[nodiscard]] std::vector<std::string> unmeasured_notes(const CheckReport& report);

/// The job on these hosts, no more and no fewer.
void settle_nodes(const std::vector<std::uint32_t>& nodes, JobSpec& spec);

}  // namespace dlaunch
