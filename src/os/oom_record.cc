#include "os/oom_record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace dlaunch {

namespace {

template <class Number>
std::optional<Number> leading_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> kilobytes_after(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const auto number = leading_number<std::uint64_t>(text.substr(at + name.size()));
  if (!number) return std::nullopt;
  return *number * 1024;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.1f", value);
  std::string number(text.data());
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return number + ' ' + kUnits[unit];
}

}  // namespace

std::optional<std::chrono::microseconds> kernel_wrote_at(std::string_view record) {
  const std::size_t end = record.find(';');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view head = record.substr(0, end);
  // "priority,sequence,microseconds,flags". The priority holds the facility, which is 0 only for
  // the kernel's own records: those that programs write there get a different facility.
  constexpr int kFacility = 8;
  if (leading_number<int>(head).value_or(kFacility) >= kFacility) return std::nullopt;
  const std::size_t first = head.find(',');
  const std::size_t second = first == head.npos ? head.npos : head.find(',', first + 1);
  if (second == head.npos) return std::nullopt;
  const auto at = leading_number<std::int64_t>(head.substr(second + 1));
  if (!at) return std::nullopt;
  return std::chrono::microseconds(*at);
}

std::optional<OomKill> parse_oom_kill(std::string_view record) {
  const auto at = kernel_wrote_at(record);
  if (!at) return std::nullopt;
  std::string_view text = record.substr(record.find(';') + 1);
  text = text.substr(0, text.find('\n'));  // lines that follow describe devices
  constexpr std::string_view kKilled = "Killed process ";
  const std::size_t killed = text.find(kKilled);
  if (killed == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, killed);
  const bool by_cgroup = before == "Memory cgroup out of memory: ";
  if (!by_cgroup && before != "Out of memory: " && !before.empty() &&
      before != "Out of memory (oom_kill_allocating_task): ")
    return std::nullopt;
  const auto pid = leading_number<pid_t>(text.substr(killed + kKilled.size()));
  if (!pid) return std::nullopt;
  return OomKill{*pid, *at, by_cgroup, kilobytes_after(text, "anon-rss:")};
}

std::optional<std::uint64_t> keyed_number(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ')
      return leading_number<std::uint64_t>(line.substr(key.size() + 1));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> memory_limit(std::string_view text) {
  // v1: LONG_MAX in whole pages, of 4 to 64 KiB (PAGE_COUNTER_MAX, include/linux/page_counter.h).
  constexpr std::uint64_t kNone = 0x7fffffffffff0000;
  const auto number = leading_number<std::uint64_t>(text);
  return number && *number < kNone ? number : std::nullopt;
}

std::string describe_oom(const std::optional<OomKill>& kill, std::optional<std::uint64_t> limit) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (kill && kill->anonymous_bytes) add(bytes_text(*kill->anonymous_bytes) + " anonymous");
  if (kill && !kill->by_cgroup) {
    add("the memory of the node was full");
  } else if (limit) {
    add("cgroup limit " + bytes_text(*limit));
  } else {
    add("its cgroup counted the kill");
  }
  return text;
}

}  // namespace dlaunch
