// InfiniBand and RoCE devices below /sys/class/infiniband of a root. Nothing here fails: what
// cannot be read is unknown, and what cannot be understood is told as an oddity. Sources: Linux,
// Documentation/ABI/stable/sysfs-class-infiniband and drivers/infiniband/core/sysfs.c.
#pragma once

#include <string>
#include <vector>

#include "fabric/text.h"
#include "model/fabric.h"

namespace dlaunch::fabric {

/// At most 64 devices, 16 ports each, and 64 GIDs of a port.
[[nodiscard]] std::vector<RdmaDevice> read_rdma(const std::string& root, Oddities& oddities);

/// Interfaces with hardware of their own, of the network namespace that /sys was mounted in; at
/// most 64. Source: Linux, Documentation/ABI/testing/sysfs-class-net.
[[nodiscard]] std::vector<NicFact> read_nics(const std::string& root);

}  // namespace dlaunch::fabric
