// What is wrong with nodes, by their facts and their condition. Pure.
//
// What a node needs by itself is judged by limits below; what can only be right or wrong beside
// others (a driver, a rate, a number of cores) is judged where more than half of at least three
// nodes, or of the others, agree: then the odd one out is named. Of two nodes, or without such a
// majority, who has lost a GPU of several is named, too.
#pragma once

#include <cstdint>
#include <optional>
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
/// `expected_gpus`: of each node; another number is bad.
[[nodiscard]] std::vector<CheckFinding> check_nodes(
    const std::vector<CheckedNode>& nodes, std::optional<std::uint32_t> expected_gpus = {});

}  // namespace dlaunch
