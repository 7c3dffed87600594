#include "jobfile/launchers/master_port.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace dlaunch::launchers {

namespace {

constexpr std::uint32_t kFirst = 20'000, kEnd = 32'000;
constexpr std::uint32_t kLowest = 1'024, kBeyond = 65'536;

std::optional<std::uint16_t> take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint16_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return number;
}

/// One of `count` ports from `first` on, with room for kPortsOfJob ports if `count` allows it.
std::uint16_t pick(std::uint64_t hash, std::uint32_t first, std::uint32_t count) {
  const std::uint32_t choices = count > kPortsOfJob ? count - kPortsOfJob : count;
  return static_cast<std::uint16_t>(first + hash % choices);
}

}  // namespace

PortRange read_port_range(std::string_view text) {
  const auto first = take_number(text);
  const auto last = take_number(text);
  if (!first || !last || *first == 0 || *last < *first) return {};
  return {*first, *last};
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

std::uint16_t master_port(std::string_view job_id, PortRange local) {
  const std::uint64_t hash = hash_of(job_id);
  const bool is_free = local.last < kFirst || local.first >= kEnd + kPortsOfJob;
  const auto usual = static_cast<std::uint16_t>(kFirst + hash % (kEnd - kFirst));
  if (is_free) return usual;
  const std::uint32_t below = local.first > kLowest ? local.first - kLowest : 0;
  const std::uint32_t above = kBeyond - (local.last + 1U);
  if (std::max(below, above) == 0) return usual;
  return below >= above ? pick(hash, kLowest, below) : pick(hash, local.last + 1U, above);
}

}  // namespace dlaunch::launchers
