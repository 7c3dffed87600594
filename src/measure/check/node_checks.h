// Finds faults of nodes from their facts and their condition. Pure.
//
// A property of a single node is compared with the limits below. Properties that nodes should share
// (a driver, a rate, a number of cores) are compared between nodes: if more than half of at least
// three agree, the others are named. Between two nodes, or without such a majority, a node that
// lost one of several GPUs is named, too.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/azure_sizes.h"
#include "model/check_report.h"

namespace dlaunch {

/// A larger clock error breaks logs, certificates and shared file systems.
inline constexpr std::int64_t kWorstClockNs = 1'000'000'000;
/// With less space a run fails when it begins to write.
inline constexpr std::uint64_t kLeastDisk = std::uint64_t{100} << 20U;
inline constexpr std::uint64_t kLittleDisk = std::uint64_t{1} << 30U;
/// Docker's default: too little for NCCL between GPUs of a node and for data loaders.
inline constexpr std::uint64_t kDockerShm = std::uint64_t{64} << 20U;
inline constexpr std::uint64_t kFewOpenFiles = 1024;
/// Locked memory that suffices for InfiniBand and RoCE; a quarter of the node's memory does, too.
inline constexpr std::uint64_t kMuchLocked = std::uint64_t{64} << 30U;

/// The findings in the order of the nodes, each node's worst first; findings about all nodes come
/// last. `expected_gpus`: GPUs that each node must have.
[[nodiscard]] std::vector<CheckFinding> check_nodes(
    const std::vector<CheckedNode>& nodes, std::optional<std::uint32_t> expected_gpus = {});

/// Notes with the code "azure-size", none of them bad: the size comes from the user or a job file
/// and may not be that of these nodes. Ignores nodes that do not answer.
[[nodiscard]] std::vector<CheckFinding> azure_size_findings(const fabric::AzureSize& size,
                                                            const std::vector<CheckedNode>& nodes);

}  // namespace dlaunch
