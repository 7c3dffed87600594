#include "measure/figures/nccl_log.h"

#include <algorithm>
#include <array>

#include "text/strings.h"

namespace dlaunch::measure {

namespace {

/// The part of the line after "NCCL INFO " or "NCCL WARN ".
std::string_view said_in(std::string_view line) {
  for (const std::string_view mark : {"NCCL INFO ", "NCCL WARN "}) {
    const std::size_t at = line.find(mark);
    if (at != std::string_view::npos) return line.substr(at + mark.size());
  }
  return {};
}

bool is_reason(std::string_view said) {
  constexpr std::array kReasons{
      std::string_view("NET/IB : No device found"), std::string_view("NCCL_IB_DISABLE set"),
      std::string_view("NCCL_NET set"), std::string_view("Failed to open libibverbs"),
      std::string_view("NET/IB : Unable to open device")};
  for (const std::string_view reason : kReasons) {
    if (said.find(reason) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

NcclNetwork parse_nccl_log(std::string_view log) {
  constexpr std::string_view kUsing = "Using network ";
  constexpr std::size_t kLongest = 200;
  NcclNetwork found;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view said = trimmed(said_in(log.substr(0, end)));
    log.remove_prefix(std::min(end + 1, log.size()));
    if (said.starts_with(kUsing) && found.name != "Socket") found.name = said.substr(kUsing.size());
    if (found.reason.empty() && is_reason(said)) found.reason = said.substr(0, kLongest);
  }
  return found;
}

std::string nccl_network_finding(const NcclNetwork& network, bool rdma_is_usable) {
  if (!rdma_is_usable || network.name != "Socket") return {};
  std::string text = "NCCL uses sockets, although usable InfiniBand or RoCE is present";
  if (!network.reason.empty()) text += "; its log: " + network.reason;
  return text;
}

}  // namespace dlaunch::measure
