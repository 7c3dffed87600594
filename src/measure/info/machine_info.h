// The machine that `dlaunch info` shows.
#pragma once

#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/gpu_health.h"

namespace dlaunch {

struct MachineInfo {
  std::string root;  // a folder with copies of its files; empty: this machine
  NodeFacts facts;
  std::vector<GpuHealth> health;
  std::vector<std::vector<std::string>> findings;  // per entry of `health`, one sentence each
  std::string no_health;                           // why `health` is empty; else empty
  bool health_hangs = false;                       // nvidia-smi did not answer in time
  bool health_fails = false;                       // its answer was not as expected
  std::vector<XidEvent> faults;
  std::string no_faults;  // why faults are not known; else empty
};

/// "18 x 26.6 GB/s" (of each link, in one direction), "16 of 18 active", "none active", "no
/// NVLink"; empty: not known.
[[nodiscard]] std::string nvlink_text(const NvLinks& links);

/// 80 columns if names allow it.
[[nodiscard]] std::string info_text(const MachineInfo& info);

/// One object; "format": 1.
[[nodiscard]] std::string info_json(const MachineInfo& info);

}  // namespace dlaunch
