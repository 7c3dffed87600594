// The records that the ranks of a check send to the launcher. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/figures/outliers.h"
#include "measure/figures/record.h"

namespace dlaunch::measure {

/// The network that NCCL uses, from its log (NCCL_DEBUG=INFO).
/// Source of the lines: NCCL, src/transport/net_ib.cc, net_socket.cc, src/plugin/net.cc (2.19 to
/// 2.30): "NCCL INFO Using network IB", "NET/IB : No device found.", "NET/IB : Using [0]mlx5_0:1/IB
/// ...", "NET/Socket : Using [0]eth0:10.0.0.1<0>", "NCCL_IB_DISABLE set by environment to 1.".
struct NcclNetwork {
  std::string name;    // "IB", "Socket", "AWS Libfabric", ...; empty: not in the log
  std::string reason;  // the line with the reason why it is not IB; empty: none was found
  bool operator==(const NcclNetwork&) const = default;
};

/// `log` may have the lines of several ranks; if they differ, a line that names sockets decides.
/// Lines without "NCCL INFO" or "NCCL WARN" are ignored.
[[nodiscard]] NcclNetwork parse_nccl_log(std::string_view log);

/// The fault of a network on nodes with usable InfiniBand or RoCE ports, in one sentence; empty:
/// none.
[[nodiscard]] std::string nccl_network_finding(const NcclNetwork& network, bool rdma_is_usable);

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
