// The preflight of `dlaunch run`: checks the hosts of the job and chooses those that it runs on.
#pragma once

#include <string>
#include <vector>

#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

struct PreflightResult {
  std::vector<std::string> notes;  // for the user, one sentence each
  std::string table;               // as `dlaunch check` prints it; empty: nothing was checked
};

struct PreflightOptions {
  bool skip = false;  // --no-preflight
  bool quiet = false;
  std::string current_folder;  // absolute
  int verbosity = 0;
};

/// Chooses the nodes and the spares among spec.hosts, and restricts `spec` to them (settle_nodes in
/// measure/check/node_choice.h). The notes were also printed on stderr. Connects to no nodes if the
/// job has no `preflight`. Must be called before any thread exists. Errors: exit_code::kPreflight,
/// after the table was printed on stderr.
[[nodiscard]] Result<PreflightResult> run_preflight(JobSpec& spec, const PreflightOptions& options);

/// Without checks, as for `dlaunch plan`: takes the first hosts, as many as the job needs.
void settle_without_check(JobSpec& spec);

}  // namespace dlaunch
