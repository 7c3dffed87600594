#include <algorithm>

#include "fabric/node_facts.h"
#include "fabric/tree.h"

namespace dlaunch::fabric {

namespace {

constexpr int kMaxCpu = 65535;

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  text = trimmed(text);
  std::vector<int> cpus;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    const std::size_t dash = range.find('-');
    const auto first = parse_number(range.substr(0, dash), kMaxCpu);
    const auto last =
        dash == std::string_view::npos ? first : parse_number(range.substr(dash + 1), kMaxCpu);
    if (!first || !last || *last < *first) return {};
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    // Lists come from the kernel; a long one that repeats itself does not.
    if (text.empty() || cpus.size() > static_cast<std::size_t>(kMaxCpu)) return {};
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string format_cpu_list(const std::vector<int>& cpus) {
  std::vector<int> sorted = cpus;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(sorted[i]);
    if (end - i > 1) text += '-' + std::to_string(sorted[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace dlaunch::fabric
