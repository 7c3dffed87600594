// What `dlaunch info` shows: one machine.
#pragma once

#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/gpu_health.h"

namespace dlaunch {

struct MachineInfo {
  std::string root;  // the folder that stands for the machine; empty: this one
  NodeFacts facts;
  std::vector<GpuHealth> health;
  std::vector<std::vector<std::string>> findings;  // of each of `health`, one sentence each
  std::string no_health;                           // why `health` is empty; else empty
  bool health_hangs = false;                       // nvidia-smi did not answer in time
  bool health_fails = false;                       // it did, but not with what it was asked for
  std::vector<XidEvent> faults;
  std::string no_faults;  // why nobody could look for faults; else empty
};

/// "18 x 26.6 GB/s" (each, in one direction), "16 of 18 active", "none active", "no NVLink"; empty:
/// not known.
[[nodiscard]] std::string nvlink_text(const NvLinks& links);

/// For people: 80 columns where names allow it.
[[nodiscard]] std::string info_text(const MachineInfo& info);

/// One object; "format": 1.
[[nodiscard]] std::string info_json(const MachineInfo& info);

}  // namespace dlaunch
