// The preflight of `dlaunch run`: the hosts of the job are checked, and those chosen that it runs
// on.
#pragma once

#include <string>
#include <vector>

#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

struct PreflightOptions {
  bool skip = false;  // --no-preflight
  bool quiet = false;
  std::string current_folder;  // absolute
  int verbosity = 0;
};

/// Settles spec.hosts and spec.nodes (plan/preflight.h); `spares` and the range of `nodes` have had
/// their effect then. Returns what people should know, a sentence each, which was said on stderr,
/// too. Without `preflight` in the job nobody is connected. Must be called before any thread
/// exists. Errors: exit_code::kPreflight after the table was printed on stderr.
[[nodiscard]] Result<std::vector<std::string>> run_preflight(JobSpec& spec,
                                                             const PreflightOptions& options);

/// For `dlaunch plan`, which checks nobody: the first hosts, as many as the job is to have.
void settle_without_check(JobSpec& spec);

}  // namespace dlaunch
