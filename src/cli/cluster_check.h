// The check of a job's nodes: node checks, their way to each other, and measurements with traffic.
// `dlaunch check` and the preflight of `dlaunch run` are both this.
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
  bool places = false;                          // whether the job's own needs are looked for
  std::optional<double> min_busbw;              // GB/s; nullopt: from what was detected
  std::optional<fabric::AzureSize> azure_size;  // of the nodes, as somebody says
  std::optional<std::uint32_t> expected_gpus;   // of each node
  std::string current_folder;                   // absolute
  int verbosity = 0;
};

/// Connects, asks, measures, and lets the nodes go again. Every step has a limit. Must be called
/// before any thread exists. Errors: those before a node was asked; what is wrong with nodes is in
/// the report.
[[nodiscard]] Result<CheckReport> check_cluster(const JobSpec& spec,
                                                const ClusterCheckOptions& options);

}  // namespace dlaunch
