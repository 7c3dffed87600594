// `dlaunch check --local`: what is wrong with this machine, of what it has and how fast that is.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/machine_info.h"
#include "speed/local_speed.h"

namespace dlaunch {

struct LocalCheck {
  MachineInfo info;
  std::optional<speed::LocalSpeed> speed;
  std::string no_speed;        // why there is none
  bool speed_is_late = false;  // there was no time left to measure it: nothing wrong by itself
  /// What a part has to say for itself, one line each: "no such library", "2.28.9".
  struct Part {
    std::string name;  // "nccl", "mpi"
    std::string says;
  };
  std::vector<Part> parts;
  /// NCCL with one rank, on the first GPU: there is nobody to talk to, so what it calls an
  /// all_reduce is a copy within the GPU.
  struct OneRank {
    std::string library;   // "nccl: 2.28.9"
    double gbyte_s = 0;    // 10^9 bytes/s read and written
    double wrong = 0;      // elements
    std::string problem;   // why there are no figures
    bool is_late = false;  // for want of time: nothing wrong by itself
  };
  std::optional<OneRank> one_rank;  // nullopt: without a GPU or NCCL
  std::optional<std::uint32_t> expected_gpus;
  double seconds = 0;  // that all of it took
};

/// What is wrong, one sentence each, worst first; empty: nothing that is seen. No GPU is nothing
/// wrong unless some are expected; a GPU that CUDA cannot use is. GPUs have nvidia-smi's numbers,
/// whatever CUDA's order; one that is known to CUDA only is "CUDA's gpu 0".
[[nodiscard]] std::vector<std::string> local_findings(const LocalCheck& check);

/// 80 columns where names allow it; ends with the verdict.
[[nodiscard]] std::string local_check_text(const LocalCheck& check);
/// One object; "format": 1.
[[nodiscard]] std::string local_check_json(const LocalCheck& check);

}  // namespace dlaunch
