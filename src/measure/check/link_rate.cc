#include "measure/check/link_rate.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "plan/fabric_ports.h"

namespace dlaunch {

using LinkLayer = RdmaPort::LinkLayer;

LinkRate link_rate(const NodeFacts& facts, const std::string& interface, bool nccl) {
  constexpr double kMbitPerGbyte = 8000;
  constexpr double kShareOfRdma = 0.5;
  // One process adds the numbers in host memory, which is slower than the network.
  constexpr double kMostByHost = 2;
  // With one process and TCP the CPU limits the rate more than the network.
  constexpr double kShareOfTcp = 0.25;
  constexpr double kMostByTcp = 1.25;  // 10 Gb/s
  for (const LinkLayer layer : {LinkLayer::infiniband, LinkLayer::ethernet}) {
    std::vector<double> rates;
    for (const FabricPort& port : choose_ports(facts, layer).ports) {
      if (port.port->rate_mbit == 0) return {};
      rates.push_back(port.port->rate_mbit / kMbitPerGbyte);
    }
    if (rates.empty()) continue;
    std::sort(rates.begin(), rates.end(), std::greater<>());
    if (!nccl) return {std::min(rates.front(), kMostByHost / kShareOfRdma), kShareOfRdma};
    // A GPU uses one port at a time.
    const std::size_t used = std::min(rates.size(), std::max<std::size_t>(facts.gpus.size(), 1));
    const auto end = rates.begin() + static_cast<std::ptrdiff_t>(used);
    return {std::accumulate(rates.begin(), end, 0.0), kShareOfRdma};
  }
  for (const NetworkInterface& one : facts.interfaces) {
    if (one.name == interface && one.kind == NetworkInterface::Kind::physical)
      return {std::min(one.speed_mbit / kMbitPerGbyte, kMostByTcp), kShareOfTcp};
  }
  return {};
}

double expected_busbw(const std::vector<LinkRate>& links) {
  double least = links.empty() ? 0 : links.front().gbs * links.front().share;
  for (const LinkRate& link : links) least = std::min(least, link.gbs * link.share);
  return least;
}

}  // namespace dlaunch
