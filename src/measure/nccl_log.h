// What NCCL says of the network that it uses (NCCL_DEBUG=INFO). Pure.
//
// Source of the texts: NCCL, src/transport/net_ib.cc, net_socket.cc, src/plugin/net.cc (2.19 to
// 2.30): "NCCL INFO Using network IB", "NET/IB : No device found.", "NET/IB : Using [0]mlx5_0:1/IB
// ...", "NET/Socket : Using [0]eth0:10.0.0.1<0>", "NCCL_IB_DISABLE set by environment to 1.".
#pragma once

#include <string>
#include <string_view>

namespace dlaunch::measure {

struct NcclNetwork {
  std::string name;    // "IB", "Socket", "AWS Libfabric", ...; empty: nothing was said
  std::string reason;  // the line that says why it is not IB; empty: none was found
  bool operator==(const NcclNetwork&) const = default;
};

/// Of a log with the lines of one rank or several; where they differ, a socket counts. Lines are
/// passed over that have no "NCCL INFO" or "NCCL WARN".
[[nodiscard]] NcclNetwork parse_nccl_log(std::string_view log);

/// What is wrong with it where the nodes have ports of InfiniBand or RoCE that can be used, in one
/// sentence; empty: nothing.
[[nodiscard]] std::string nccl_network_finding(const NcclNetwork& network, bool rdma_is_usable);

}  // namespace dlaunch::measure
