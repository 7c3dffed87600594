#include "spec/slurm_gpus.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace dlaunch::spec {

namespace {

constexpr int kMostGpus = 1'000'000;

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool good = error == std::errc() && end == text.data() + text.size();
  return good && number >= 0 && number <= kMostGpus ? std::optional(number) : std::nullopt;
}

/// The text up to the next comma, which is removed from `rest`.
std::string_view next_item(std::string_view& rest) {
  const std::size_t comma = std::min(rest.find(','), rest.size());
  const std::string_view item = rest.substr(0, comma);
  rest.remove_prefix(std::min(comma + 1, rest.size()));
  return item;
}

std::string without_parentheses(std::string_view text) {
  std::string kept;
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (depth == 0) kept += c;
    if (c == ')' && depth > 0) --depth;
  }
  return kept;
}

std::optional<int> positive(long sum) {
  return sum > 0 && sum <= kMostGpus ? std::optional(static_cast<int>(sum)) : std::nullopt;
}

/// "0,1,4-6" are five.
std::optional<int> count_ids(std::string_view text) {
  long sum = 0;
  while (!text.empty()) {
    const std::string_view item = next_item(text);
    const std::size_t dash = std::min(item.find('-'), item.size());
    const auto first = number_of(item.substr(0, dash));
    const auto last = dash == item.size() ? first : number_of(item.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    sum += *last - *first + 1;
  }
  return positive(sum);
}

void spread_total(int total, std::optional<int> own, SlurmAllocation& allocation) {
  allocation.gpus = total;
  std::vector<SlurmNode>& nodes = allocation.nodes;
  if (nodes.size() == 1) nodes.front().gpus = total;
  // dlaunch is on the first node, where a batch script runs.
  if (nodes.size() != 2 || !own || *own >= total) return;
  nodes.front().gpus = nodes.front().step_gpus = *own;
  nodes.back().gpus = nodes.back().step_gpus = total - *own;
}

}  // namespace

std::optional<int> count_gpus(std::string_view text) {
  const std::string plain = without_parentheses(text);
  std::string_view rest = plain;
  long sum = 0;
  while (!rest.empty()) {
    const std::string_view item = next_item(rest);
    const std::size_t colon = item.rfind(':');
    const auto count = number_of(colon == std::string_view::npos ? item : item.substr(colon + 1));
    if (!count) return std::nullopt;
    sum += *count;
  }
  return positive(sum);
}

void read_slurm_gpus(const Environment& environment, SlurmAllocation& allocation) {
  const auto told = [&](std::string_view name) {
    return count_gpus(find_variable(environment, name).value_or(""));
  };
  std::vector<SlurmNode>& nodes = allocation.nodes;
  if (const auto each = told("SLURM_GPUS_PER_NODE")) {
    for (SlurmNode& node : nodes) node.gpus = *each;
    return;
  }
  if (const auto each = told("SLURM_GPUS_PER_TASK")) {
    for (SlurmNode& node : nodes) {
      node.gpus = positive(static_cast<long>(*each) * node.tasks).value_or(0);
      node.step_gpus = node.tasks > 1 ? node.gpus : 0;
    }
    return;
  }
  auto own = told("SLURM_GPUS_ON_NODE");
  if (!own) own = count_ids(find_variable(environment, "SLURM_JOB_GPUS").value_or(""));
  if (const auto total = told("SLURM_GPUS")) return spread_total(*total, own, allocation);
  for (SlurmNode& node : nodes) node.gpus = own.value_or(0);
}

}  // namespace dlaunch::spec
