// What a node's network hardware promises. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/cluster.h"

namespace dlaunch {

/// What can be expected of a node's network hardware.
struct LinkRate {
  double gbs = 0;    // 10^9 bytes/s each way; 0: not known
  double share = 0;  // of it that a healthy node reaches at least, by what is used for it
  bool operator==(const LinkRate&) const = default;
};

/// The ports of InfiniBand or RoCE that a job would use: for NCCL as many as there are GPUs, for an
/// MPI program of one rank the fastest one, and of it 4 GB/s at most, as it adds on the host;
/// without them the physical interface `interface` by TCP. Not known: virtual interfaces, and what
/// tells no rate.
[[nodiscard]] LinkRate link_rate(const NodeFacts& facts, const std::string& interface, bool nccl);

/// GB/s of bus bandwidth that all_reduce over these nodes should reach: what the weakest one can
/// carry. 0: not known of all of them.
[[nodiscard]] double expected_busbw(const std::vector<LinkRate>& links);

}  // namespace dlaunch
