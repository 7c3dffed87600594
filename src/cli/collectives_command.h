// `dlaunch collectives`: a rank of a measurement. Internal, and in no help text.
#pragma once

#include <string>
#include <vector>

#include "measure/settings.h"
#include "plan/measured_job.h"

namespace dlaunch {

[[nodiscard]] bool is_collectives_command(const std::vector<std::string>& words);

/// `collectives --backend mpi|nccl MODE KEY=VALUE...`: becomes the program that measures
/// (collectives/program/program.h), with its environment and descriptors; returns where that cannot
/// be: kPreflight, with what is missing on this node. `collectives --probe` says which back-ends
/// this dlaunch has, and whether what they need is here.
[[nodiscard]] int collectives_command(const std::vector<std::string>& words);

/// What a rank executes for it, on any node: its agent is dlaunch, wherever that lies there.
[[nodiscard]] std::vector<std::string> collectives_words(MeasureBackend backend,
                                                         const std::string& mode,
                                                         const measure::Settings& settings);

}  // namespace dlaunch
