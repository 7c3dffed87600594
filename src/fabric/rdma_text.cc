#include "fabric/rdma_text.h"

#include <algorithm>
#include <array>

#include "fabric/text.h"
#include "fabric/tree.h"

namespace dlaunch::fabric {

namespace {

/// The number of "4: ACTIVE", and the rest in `word`.
std::optional<int> numbered(std::string_view text, std::string_view& word) {
  const std::size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  word = text.substr(colon + 2);
  return parse_number(text.substr(0, colon), 255);
}

}  // namespace

RdmaPort::State parse_port_state(std::string_view text) {
  using State = RdmaPort::State;
  constexpr std::array kStates = {State::nop,   State::down,   State::init,
                                  State::armed, State::active, State::active_defer};
  std::string_view word;
  const auto number = numbered(text, word);
  if (!number || static_cast<std::size_t>(*number) >= kStates.size()) return State::unknown;
  return kStates[static_cast<std::size_t>(*number)];
}

std::string parse_physical_state(std::string_view text) {
  std::string_view word;
  return numbered(text, word) ? plain_or_empty(word, 32) : std::string();
}

RdmaPort::LinkLayer parse_link_layer(std::string_view text) {
  if (text == "InfiniBand") return RdmaPort::LinkLayer::infiniband;
  if (text == "Ethernet") return RdmaPort::LinkLayer::ethernet;
  return RdmaPort::LinkLayer::unknown;
}

std::optional<PortRate> parse_port_rate(std::string_view text) {
  constexpr std::string_view kUnit = " Gb/sec (";
  constexpr int kMostGigabits = 1'000'000;
  const std::size_t unit = text.find(kUnit);
  if (unit == std::string_view::npos || !text.ends_with(')')) return std::nullopt;
  std::string_view number = text.substr(0, unit);
  const bool half = number.ends_with(".5");  // the only fraction that the kernel writes
  if (half) number.remove_suffix(2);
  const auto gigabits = parse_number(number, kMostGigabits);
  std::string_view inside = text.substr(unit + kUnit.size());
  inside.remove_suffix(1);
  const std::size_t x = inside.find('X');
  const auto lanes = parse_number(inside.substr(0, x), 255);
  if (!gigabits || !lanes || x == std::string_view::npos) return std::nullopt;
  const std::string_view rest = inside.substr(x + 1);
  if (!rest.empty() && rest.front() != ' ') return std::nullopt;
  PortRate rate;
  rate.mbit = static_cast<std::uint32_t>(*gigabits) * 1000U + (half ? 500U : 0U);
  rate.lanes = *lanes;
  rate.speed = plain_or_empty(rest.empty() ? rest : rest.substr(1), 16);
  return rate;
}

RdmaGid::Type parse_gid_type(std::string_view text) {
  if (text == "RoCE v2") return RdmaGid::Type::roce_v2;
  if (text == "IB/RoCE v1") return RdmaGid::Type::v1;
  return RdmaGid::Type::unknown;
}

std::optional<std::string> parse_gid(std::string_view text) {
  constexpr std::size_t kLength = 39;
  if (text.size() != kLength) return std::nullopt;
  bool in_use = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (i % 5 == 4 ? c != ':' : !is_hex) return std::nullopt;
    in_use = in_use || (c != '0' && c != ':');
  }
  return in_use ? std::optional<std::string>(text) : std::nullopt;
}

}  // namespace dlaunch::fabric
