// Turns the measurements between nodes into findings of a check. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/figures/check_records.h"
#include "model/check_report.h"
#include "model/cluster.h"

namespace dlaunch {

/// The rate of a node's network hardware.
struct LinkRate {
  double gbs = 0;    // 10^9 bytes/s each way; 0: not known
  double share = 0;  // the smallest share of `gbs` that a healthy node reaches, by transport
  bool operator==(const LinkRate&) const = default;
};

/// The rate of the InfiniBand or RoCE ports that a job would use: with NCCL the sum of one port per
/// GPU; with MPI and one rank the fastest port, but at most 4 GB/s, since the host adds the
/// numbers. Without such ports, the rate of the physical interface `interface`, for TCP. Not known
/// for virtual interfaces and those without a rate.
[[nodiscard]] LinkRate link_rate(const NodeFacts& facts, const std::string& interface, bool nccl);

/// The bus bandwidth in GB/s that all_reduce over these nodes should reach, from the slowest link.
/// 0: a link's rate is unknown.
[[nodiscard]] double expected_busbw(const std::vector<LinkRate>& links);

struct FabricContext {
  std::vector<std::uint32_t> nodes;  // index = node of the data; value = node of the report
  std::optional<double> min_busbw;   // GB/s; nullopt: from the detected hardware
  bool nccl = false;
  std::vector<std::string> interfaces;  // index = node of the report; empty text: not known
};

/// Adds figures and findings to the report.
void add_fabric(const measure::CheckData& data, const FabricContext& context, CheckReport& report);

}  // namespace dlaunch
