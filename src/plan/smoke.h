// `dlaunch run --smoke`: the same job, small enough to see in a minute whether it works at all.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"

namespace dlaunch {

/// Keys of a job file that a smoke test does not read: it runs on the machine it is started on.
[[nodiscard]] const std::vector<std::string>& keys_without_meaning_for_smoke();

/// What was said on the command line and stands.
struct SmokeInput {
  std::uint32_t gpus = 0;            // that this process may use
  bool count_given = false;          // -n or --nproc-per-node
  bool run_limit_given = false;      // --set timeouts.run
  bool stop_given = false;           // --set timeouts.stop
  bool prefix_given = false;         // --set logs.prefix
  std::vector<std::string> ignored;  // keys of the file that were left out
};

struct SmokeJob {
  JobSpec spec;
  std::string line;  // for a person: what is different from the job
};

inline constexpr Duration kSmokeLimit = std::chrono::minutes(10);
inline constexpr Duration kSmokeStop = std::chrono::seconds(10);

/// One node; a rank for each GPU, else two (one process with launch: per-node or once); one process
/// of each role, and a second worker where there is no chief, so that two have to find each other;
/// at most kSmokeLimit; no restarts; ranks that are told to stop get kSmokeStop.
[[nodiscard]] SmokeJob make_smoke_job(JobSpec spec, const SmokeInput& input);

/// How many GPUs of the node the job may use.
[[nodiscard]] std::uint32_t count_usable_gpus(const JobSpec& spec, const NodeFacts& facts);

}  // namespace dlaunch
