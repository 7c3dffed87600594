// Turns the measurements between nodes into findings of a check. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/figures/check_records.h"
#include "model/check_report.h"

namespace dlaunch {

struct FabricContext {
  std::vector<std::uint32_t> nodes;  // index = node of the data; value = node of the report
  std::optional<double> min_busbw;   // GB/s; nullopt: from the detected hardware
  bool nccl = false;
  std::vector<std::string> interfaces;  // index = node of the report; empty text: not known
};

/// Adds figures and findings to the report.
void add_fabric(const measure::CheckData& data, const FabricContext& context, CheckReport& report);

}  // namespace dlaunch
