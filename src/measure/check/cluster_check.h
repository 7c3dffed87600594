// Checks a job's nodes, for `dlaunch check` and the preflight of `dlaunch run`: inspects each node,
// tests whether the nodes can reach each other, and measures between them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fabric/azure_sizes.h"
#include "model/check_report.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

struct ClusterCheckOptions {
  bool nodes = true;
  bool reach = true;
  bool fabric = true;
  bool job_needs = false;                       // whether each node has what the job needs
  std::optional<double> min_busbw;              // GB/s; nullopt: from the detected hardware
  std::optional<fabric::AzureSize> azure_size;  // of the nodes, as the user or the job file says
  std::optional<std::uint32_t> expected_gpus;   // of each node
  std::string current_folder;                   // absolute
  int verbosity = 0;
};

/// Connects, inspects, measures and disconnects. Every step has a limit. Must be called before any
/// thread exists. Errors: those that come before any node is inspected; faults of nodes are in the
/// report.
[[nodiscard]] Result<CheckReport> check_cluster(const JobSpec& spec,
                                                const ClusterCheckOptions& options);

}  // namespace dlaunch
