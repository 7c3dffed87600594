#include "node/watch/proc_text.h"

#include <algorithm>
#include <array>

#include "os/proc_file.h"
#include "text/number.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using Number = std::uint64_t;

Number field(std::string_view stat, int number) {
  return number_of<Number>(stat_field(stat, number)).value_or(0);
}

/// The number after "NAME" at the beginning of a line; 0 if there is none.
Number number_after(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!line.starts_with(name)) continue;
    const std::string_view value = trimmed(line.substr(name.size()));
    return number_of<Number>(value.substr(0, value.find(' '))).value_or(0);
  }
  return 0;
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view stat) {
  constexpr int kState = 3;
  constexpr int kFirstTime = 14;  // utime, stime, cutime, cstime
  constexpr int kLastTime = 17;
  constexpr int kStarted = 22;
  constexpr int kPages = 24;
  const std::string_view state = stat_field(stat, kState);
  if (state.size() != 1 || stat_field(stat, kPages).empty()) return std::nullopt;
  ProcessStat process{state.front(), field(stat, kStarted), 0, field(stat, kPages)};
  for (int number = kFirstTime; number <= kLastTime; ++number) process.ticks += field(stat, number);
  return process;
}

std::uint64_t parse_io(std::string_view io) {
  return number_after(io, "rchar:") + number_after(io, "wchar:");
}

std::uint64_t parse_switches(std::string_view status) {
  return number_after(status, "voluntary_ctxt_switches:") +
         number_after(status, "nonvoluntary_ctxt_switches:");
}

CpuTime parse_cpu_time(std::string_view stat) {
  constexpr std::size_t kIdle = 4;
  constexpr std::size_t kWaiting = 5;  // idle, too
  constexpr std::size_t kStolen = 8;   // what follows is in `user` and `nice` already
  CpuTime time;
  while (stat.starts_with("cpu")) {
    const std::vector<std::string_view> words = split_words(take_line(stat));
    if (words.front() != "cpu") {
      ++time.cores;
      continue;
    }
    for (std::size_t i = 1; i < words.size() && i <= kStolen; ++i) {
      if (i != kIdle && i != kWaiting) time.busy += number_of<Number>(words[i]).value_or(0);
    }
  }
  return time;
}

std::uint64_t parse_available_memory(std::string_view meminfo) {
  constexpr unsigned kKibi = 10;
  return number_after(meminfo, "MemAvailable:") << kKibi;
}

std::uint64_t parse_network_bytes(std::string_view dev) {
  constexpr std::array<std::string_view, 10> kNotCards{"lo",   "veth", "docker", "br",  "virbr",
                                                       "bond", "tun",  "tap",    "cni", "flannel"};
  constexpr std::size_t kSent = 8;  // index of the words after the colon; received: 0
  std::uint64_t bytes = 0;
  while (!dev.empty()) {
    std::string_view line = trimmed(take_line(dev));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;  // the head
    const std::string_view name = line.substr(0, colon);
    const bool is_card =
        name.find('.') == std::string_view::npos &&  // a VLAN of a card
        std::none_of(kNotCards.begin(), kNotCards.end(),
                     [&](std::string_view other) { return name.starts_with(other); });
    const auto words = split_words(line.substr(colon + 1));
    if (!is_card || words.size() <= kSent) continue;
    bytes += number_of<Number>(words[0]).value_or(0) + number_of<Number>(words[kSent]).value_or(0);
  }
  return bytes;
}

std::uint64_t parse_waited(std::string_view schedstat) {
  (void)take_until(schedstat, ' ');
  return number_of<std::uint64_t>(take_until(schedstat, ' ')).value_or(0);
}

std::uint32_t parse_stall_permille(std::string_view pressure) {
  constexpr std::string_view kAverage = "some avg10=";
  constexpr std::uint32_t kMost = 1000;
  if (!pressure.starts_with(kAverage)) return 0;
  pressure.remove_prefix(kAverage.size());
  const std::string_view percent = take_until(pressure, '.');
  const std::uint32_t tenths =
      pressure.empty() ? 0 : number_of<std::uint32_t>(pressure.substr(0, 1)).value_or(0);
  const std::uint32_t whole = number_of<std::uint32_t>(percent).value_or(0);
  return whole >= kMost / 10 ? kMost : whole * 10 + tenths;
}

}  // namespace dlaunch
