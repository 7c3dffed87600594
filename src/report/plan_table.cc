#include "report/plan_table.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "report/plan_layout.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

/// "0-3,8" of ascending numbers.
std::string ranges(const std::vector<int>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    out += (out.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (end > i) out += "-" + std::to_string(numbers[end]);
    i = end + 1;
  }
  return out;
}

/// NUMA node of each logical CPU of a node.
std::map<int, int> numa_of_cpus(const NodeFacts& facts) {
  std::map<int, int> numa;
  for (const CpuCore& core : facts.cores) {
    for (const int cpu : core.threads) numa[cpu] = core.numa;
  }
  return numa;
}

std::string numa_text(const std::vector<int>& cpus, const std::map<int, int>& numa_of) {
  std::vector<int> numa;
  for (const int cpu : cpus) {
    const auto found = numa_of.find(cpu);
    if (found != numa_of.end()) numa.push_back(found->second);
  }
  std::sort(numa.begin(), numa.end());
  numa.erase(std::unique(numa.begin(), numa.end()), numa.end());
  return numa.empty() ? "-" : ranges(numa);
}

std::string gpu_text(const RankPlan& rank) {
  if (rank.gpus.empty()) return "-";
  const bool is_limited =
      std::any_of(rank.variables.begin(), rank.variables.end(),
                  [](const Variable& v) { return v.name == "CUDA_VISIBLE_DEVICES"; });
  if (!is_limited) return "all";
  return shortened(rank.gpus.front(), 12);
}

using Cells = std::vector<std::string>;

/// One line of the table or, if it has no cells, the line that replaces omitted ones.
struct TableLine {
  Cells cells;
  std::string instead;
};

std::vector<TableLine> table_lines(const LaunchPlan& plan, const Cluster& cluster,
                                   bool with_roles) {
  std::vector<TableLine> lines;
  const bool abbreviate = plan.ranks.size() > kAllRanks;
  const bool skips_nodes = abbreviate && plan.nodes.size() > kFirst + kLast;
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    const NodePlan& node = plan.nodes[n];
    if (skips_nodes && n == kFirst) {
      lines.push_back({{}, "... " + counted(plan.nodes.size() - kFirst - kLast, "more node")});
    }
    if (skips_nodes && n >= kFirst && n + kLast < plan.nodes.size()) continue;
    const auto numa = numa_of_cpus(cluster.nodes[n].facts);
    const bool skips_ranks = abbreviate && node.ranks.size() > kFirst + kLast + 1;
    for (std::size_t i = 0; i < node.ranks.size(); ++i) {
      if (skips_ranks && i == kFirst) {
        lines.push_back({{},
                         "... " + counted(node.ranks.size() - kFirst - kLast, "more rank") +
                             " on " + node.name});
        i = node.ranks.size() - kLast;
      }
      const RankPlan& rank = plan.ranks[node.ranks[i].value];
      const bool known = !cluster.is_assumed;
      Cells cells = {std::to_string(rank.rank.value), node.name,
                     std::to_string(rank.local_rank.value)};
      if (with_roles) cells.push_back(rank.role);
      cells.insert(cells.end(), {known ? gpu_text(rank) : "?",
                                 !known              ? "?"
                                 : rank.cpus.empty() ? "not bound"
                                                     : ranges(rank.cpus),
                                 known ? numa_text(rank.cpus, numa) : "?"});
      lines.push_back({std::move(cells), ""});
    }
  }
  return lines;
}

}  // namespace

void add_rank_table(std::string& out, const LaunchPlan& plan, const Cluster& cluster) {
  const bool with_roles = std::any_of(plan.ranks.begin(), plan.ranks.end(),
                                      [](const RankPlan& rank) { return rank.role != "default"; });
  Cells head = {"rank", "node", "local", "gpu", "cpus", "numa"};
  if (with_roles) head.insert(head.begin() + 3, "role");
  const std::vector<TableLine> lines = table_lines(plan, cluster, with_roles);
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < head.size(); ++c) {
    std::size_t width = head[c].size();
    for (const TableLine& line : lines) {
      if (!line.cells.empty()) width = std::max(width, line.cells[c].size());
    }
    widths.push_back(width);
  }
  const auto is_number = [&](std::size_t c) {
    return head[c] == "rank" || head[c] == "local" || head[c] == "numa";
  };
  const auto add_row = [&](const Cells& cells) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      line += (c == 0 ? "" : "  ") +
              (is_number(c) ? right_aligned(cells[c], widths[c]) : padded(cells[c], widths[c]));
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add_row(head);
  for (const TableLine& line : lines) {
    if (line.cells.empty()) {
      out += std::string(widths[0] + 2, ' ') + line.instead + "\n";
    } else {
      add_row(line.cells);
    }
  }
}

}  // namespace dlaunch
