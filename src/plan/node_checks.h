// What is wrong with nodes, by their facts and their condition. Pure.
//
// What a node needs by itself is judged by limits below; what can only be right or wrong beside
// others (a driver, a rate, a number of cores) is judged where more than half of at least three
// nodes, or of the others, agree: then the odd one out is named.
#pragma once

#include <vector>

#include "model/check_report.h"

namespace dlaunch {

/// A clock that is off by more than this spoils logs, certificates and shared file systems.
inline constexpr std::int64_t kWorstClockNs = 1'000'000'000;
/// Less room than this and a run fails when it begins to write.
inline constexpr std::uint64_t kLeastDisk = std::uint64_t{100} << 20U;
inline constexpr std::uint64_t kLittleDisk = std::uint64_t{1} << 30U;
/// What Docker gives by default: too little for NCCL between GPUs of a node and for data loaders.
inline constexpr std::uint64_t kDockerShm = std::uint64_t{64} << 20U;
inline constexpr std::uint64_t kFewOpenFiles = 1024;
/// Locked memory that is enough for InfiniBand and RoCE anywhere; less is, where it is a quarter of
/// the node's memory.
inline constexpr std::uint64_t kMuchLocked = std::uint64_t{64} << 30U;

/// In the order of the nodes, the worst first for each; what concerns all comes last.
[[nodiscard]] std::vector<CheckFinding> check_nodes(const std::vector<CheckedNode>& nodes);

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
