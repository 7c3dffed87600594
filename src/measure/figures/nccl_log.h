// The network that NCCL uses, from its log (NCCL_DEBUG=INFO). Pure.
//
// Source of the lines: NCCL, src/transport/net_ib.cc, net_socket.cc, src/plugin/net.cc (2.19 to
// 2.30): "NCCL INFO Using network IB", "NET/IB : No device found.", "NET/IB : Using [0]mlx5_0:1/IB
// ...", "NET/Socket : Using [0]eth0:10.0.0.1<0>", "NCCL_IB_DISABLE set by environment to 1.".
#pragma once

#include <string>
#include <string_view>

namespace dlaunch::measure {

struct NcclNetwork {
  std::string name;    // "IB", "Socket", "AWS Libfabric", ...; empty: not in the log
  std::string reason;  // the line with the reason why it is not IB; empty: none was found
  bool operator==(const NcclNetwork&) const = default;
};

/// `log` may have the lines of several ranks; where they differ, a socket counts. Lines without
/// "NCCL INFO" or "NCCL WARN" are ignored.
[[nodiscard]] NcclNetwork parse_nccl_log(std::string_view log);

/// The fault of a network on nodes with usable InfiniBand or RoCE ports, in one sentence; empty:
/// none.
[[nodiscard]] std::string nccl_network_finding(const NcclNetwork& network, bool rdma_is_usable);

}  // namespace dlaunch::measure
