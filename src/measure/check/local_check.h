// The report of `dlaunch check --local`: the hardware of this machine, its speed and its faults.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/info/machine_info.h"
#include "measure/speed/local_speed.h"

namespace dlaunch {

struct LocalCheck {
  MachineInfo info;
  std::optional<speed::LocalSpeed> speed;
  std::string no_speed;        // why `speed` is missing
  bool speed_is_late = false;  // no time was left to measure it, which is not a fault
  /// Other parts, one line each: "no such library", "2.28.9".
  struct Part {
    std::string name;  // "nccl", "mpi"
    std::string says;
  };
  std::vector<Part> parts;
  /// NCCL with one rank, on the first GPU, whose all_reduce is a copy within the GPU.
  struct OneRank {
    std::string library;   // "nccl: 2.28.9"
    double gbyte_s = 0;    // 10^9 bytes/s read and written
    double wrong = 0;      // elements
    std::string problem;   // why there are no figures
    bool is_late = false;  // no time was left, which is not a fault
  };
  std::optional<OneRank> one_rank;  // nullopt: without a GPU or NCCL
  std::optional<std::uint32_t> expected_gpus;
  double seconds = 0;  // how long the check took
};

/// The faults found, one sentence each, worst first. Having no GPU is a fault only if some are
/// expected; a GPU that CUDA cannot use is a fault. GPUs are numbered as by nvidia-smi; a GPU
/// that only CUDA knows is "CUDA's gpu 0".
[[nodiscard]] std::vector<std::string> local_findings(const LocalCheck& check);

/// 80 columns if names allow it; the last line is the verdict.
[[nodiscard]] std::string local_check_text(const LocalCheck& check);
/// One object; "format": 1.
[[nodiscard]] std::string local_check_json(const LocalCheck& check);

}  // namespace dlaunch
