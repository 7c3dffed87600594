// Everything that a node has for fast communication, in one value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/fabric.h"

namespace dlaunch::fabric {

/// The topology file that NCCL reads unless NCCL_TOPO_FILE names another (ncclTopoGetSystem in its
/// src/graph/topo.cc). In virtual machines, nvidia-topologyd writes it.
inline constexpr std::string_view kDefaultTopologyFile =
    "/var/run/nvidia-topologyd/virtualTopology.xml";

/// `gpus`: from read_gpus() with the same root. `nccl_file`: path of the user's NCCL settings
/// (NCCL_CONF_FILE, else ~/.nccl.conf), not below `root`; may be empty. If kDefaultTopologyFile
/// exists, `nccl_settings` names it as NCCL_TOPO_FILE, unless a settings file names another one.
/// Never fails.
[[nodiscard]] FabricFacts read_fabric(const std::string& root, const std::vector<GpuFact>& gpus,
                                      const std::string& nccl_file);

/// The file in which NCCL looks for the user's settings, given the values of NCCL_CONF_FILE and
/// HOME (initEnvFunc in its src/misc/param.cc); empty: none.
[[nodiscard]] std::string user_nccl_file(const std::string& conf_file, const std::string& home);

/// Lines NAME=VALUE as NCCL reads them (setEnvFile in its src/misc/param.cc): "#" only at the
/// beginning of a line, no quotes, spaces kept. Adds names that begin with NCCL_ and are not in
/// `settings` yet.
void add_nccl_settings(const std::string& text, Environment& settings);

}  // namespace dlaunch::fabric
