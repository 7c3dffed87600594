// The rate that a node's network hardware should reach. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/cluster.h"

namespace dlaunch {

/// The rate of a node's network hardware.
struct LinkRate {
  double gbs = 0;    // 10^9 bytes/s each way; 0: not known
  double share = 0;  // the least share of it that a healthy node reaches, by transport
  bool operator==(const LinkRate&) const = default;
};

/// From the InfiniBand or RoCE ports that a job would use: with NCCL one for each GPU; with MPI and
/// one rank the fastest port, but at most 4 GB/s, since the host adds the numbers. Without such
/// ports from the physical interface `interface`, by TCP. Not known for virtual interfaces and
/// those without a rate.
[[nodiscard]] LinkRate link_rate(const NodeFacts& facts, const std::string& interface, bool nccl);

/// The bus bandwidth in GB/s that all_reduce over these nodes should reach, from the slowest one.
/// 0: unknown for one of them.
[[nodiscard]] double expected_busbw(const std::vector<LinkRate>& links);

}  // namespace dlaunch
