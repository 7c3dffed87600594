// What the ranks of a check tell the launcher, as records. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/nccl_log.h"
#include "measure/outliers.h"
#include "measure/record.h"

namespace dlaunch::measure {

/// Of all good nodes together.
struct AllReduce {
  std::vector<int> nodes;
  double busbw_gbs = 0;
  double bytes = 0;
  int ranks = 0;
  bool operator==(const AllReduce&) const = default;
};

struct CheckData {
  std::string backend;  // of the header
  Measured measured;
  std::optional<AllReduce> all_reduce;
  std::optional<NcclNetwork> network;
  bool out_of_time = false;  // some question was not answered for want of it
  bool operator==(const CheckData&) const = default;
};

[[nodiscard]] Record record_of(const Exchange& one);
[[nodiscard]] Record record_of(const Compute& one);
[[nodiscard]] Record record_of(const ExchangeAlone& one);
[[nodiscard]] Record record_of(const ComputeAlone& one);
[[nodiscard]] Record record_of(const AllReduce& one);
[[nodiscard]] Record record_of(const NcclNetwork& one);

/// Takes in one of them; others are passed over, and what names a node that there is not.
void add_record(const Record& record, CheckData& data);

}  // namespace dlaunch::measure
