// The records that the ranks of a check send to the launcher. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/figures/nccl_log.h"
#include "measure/figures/outliers.h"
#include "measure/figures/record.h"

namespace dlaunch::measure {

/// An all_reduce over all good nodes.
struct AllReduce {
  std::vector<int> nodes;
  double busbw_gbs = 0;
  double bytes = 0;
  int ranks = 0;
  bool operator==(const AllReduce&) const = default;
};

struct CheckData {
  std::string backend;  // from the header
  Measured measured;
  std::optional<AllReduce> all_reduce;
  std::optional<NcclNetwork> network;
  bool out_of_time = false;  // some measurements were skipped for lack of time
  bool operator==(const CheckData&) const = default;
};

[[nodiscard]] Record record_of(const Exchange& one);
[[nodiscard]] Record record_of(const Compute& one);
[[nodiscard]] Record record_of(const ExchangeAlone& one);
[[nodiscard]] Record record_of(const ComputeAlone& one);
[[nodiscard]] Record record_of(const AllReduce& one);
[[nodiscard]] Record record_of(const NcclNetwork& one);

/// Adds the data of a record; ignores other records, and those that name an unknown node.
void add_record(const Record& record, CheckData& data);

}  // namespace dlaunch::measure
