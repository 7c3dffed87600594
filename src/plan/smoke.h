// `dlaunch run --smoke`: the same job, small enough to show within a minute whether it works. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"

namespace dlaunch {

/// Keys of a job file that a smoke test ignores, because the test runs on the local machine.
[[nodiscard]] const std::vector<std::string>& keys_without_meaning_for_smoke();

/// What the command line sets, which takes precedence over the smoke test's own values.
struct SmokeInput {
  std::uint32_t gpus = 0;            // available to this process
  bool count_given = false;          // -n or --nproc-per-node
  bool run_limit_given = false;      // --set timeouts.run
  bool stop_given = false;           // --set timeouts.stop
  bool prefix_given = false;         // --set logs.prefix
  std::vector<std::string> ignored;  // keys of the file that were left out
};

struct SmokeJob {
  JobSpec spec;
  std::string line;  // the differences from the job, for the user
};

inline constexpr Duration kSmokeLimit = std::chrono::minutes(10);
inline constexpr Duration kSmokeStop = std::chrono::seconds(10);

/// One node; a rank per GPU, or two without GPUs (with launch: per-node or once, one process); with
/// roles, one process per role, and a second worker if there is no chief, so that two ranks have to
/// meet. The run lasts at most kSmokeLimit, is not restarted, and gives stopped ranks kSmokeStop to
/// end.
[[nodiscard]] SmokeJob make_smoke_job(JobSpec spec, const SmokeInput& input);

/// The number of GPUs of the node that the job may use.
[[nodiscard]] std::uint32_t count_usable_gpus(const JobSpec& spec, const NodeFacts& facts);

}  // namespace dlaunch
