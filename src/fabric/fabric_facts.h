// Everything that a node has for fast communication, in one value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/fabric.h"

namespace dlaunch::fabric {

/// What NCCL reads unless NCCL_TOPO_FILE names another file (ncclTopoGetSystem in its
/// src/graph/topo.cc); nvidia-topologyd writes it in virtual machines.
inline constexpr std::string_view kDefaultTopologyFile =
    "/var/run/nvidia-topologyd/virtualTopology.xml";

/// `gpus`: from read_gpus() with the same root. `nccl_file`: the user's settings of NCCL
/// (NCCL_CONF_FILE, else ~/.nccl.conf), a path outside of the root; may be empty. If there is a
/// kDefaultTopologyFile, `nccl_settings` contains it as NCCL_TOPO_FILE, unless a settings file
/// names another. Never fails.
[[nodiscard]] FabricFacts read_fabric(const std::string& root, const std::vector<GpuFact>& gpus,
                                      const std::string& nccl_file);

/// Where NCCL looks for the user's settings, from the values of NCCL_CONF_FILE and HOME
/// (initEnvFunc in its src/misc/param.cc); empty if nowhere.
[[nodiscard]] std::string user_nccl_file(const std::string& conf_file, const std::string& home);

/// Lines NAME=VALUE as NCCL reads them (setEnvFile in its src/misc/param.cc): "#" only at the
/// beginning of a line, no quotes, spaces kept. Adds names that begin with NCCL_ and are not in
/// `settings` yet.
void add_nccl_settings(const std::string& text, Environment& settings);

}  // namespace dlaunch::fabric
