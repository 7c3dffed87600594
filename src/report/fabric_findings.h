// What measurements with traffic mean for the nodes of a check. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/check_records.h"
#include "model/check_report.h"

namespace dlaunch {

struct FabricContext {
  std::vector<std::uint32_t> nodes;  // index = node of the data: its place in the report
  std::optional<double> min_busbw;   // GB/s; nullopt: from what was detected
  bool nccl = false;
  std::vector<std::string> interfaces;  // index = node of the report; empty texts: not known
};

/// Adds figures and findings.
void add_fabric(const measure::CheckData& data, const FabricContext& context, CheckReport& report);

}  // namespace dlaunch
