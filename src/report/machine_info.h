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
  std::vector<XidEvent> faults;
  std::string no_faults;  // why nobody could look for faults; else empty
};

/// For people: 80 columns where names allow it.
[[nodiscard]] std::string info_text(const MachineInfo& info);

/// One object; "format": 1.
[[nodiscard]] std::string info_json(const MachineInfo& info);

}  // namespace dlaunch
