#include "report/run_figures.h"

#include <algorithm>
#include <chrono>
#include <set>

#include <nlohmann/json.hpp>

#include "report/json_members.h"
#include "report/run_record.h"

namespace dlaunch {

namespace {

const nlohmann::json* list_in(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? &*found : nullptr;
}

std::optional<double> time_of_ranks(const nlohmann::json& ranks) {
  std::optional<WallTime> first;
  std::optional<WallTime> last;
  for (const nlohmann::json& rank : ranks) {
    if (!rank.is_object()) return std::nullopt;
    const auto started = parse_time(json_string(rank, "started"));
    const auto ended = parse_time(json_string(rank, "ended"));
    if (!started || !ended) return std::nullopt;
    first = std::min(first.value_or(*started), *started);
    last = std::max(last.value_or(*ended), *ended);
  }
  if (!first) return std::nullopt;
  return std::chrono::duration<double>(*last - *first).count();
}

void read_metric(const nlohmann::json& metric, RunFigures& figures) {
  auto& found = figures.metrics[json_string(metric, "name")];
  const nlohmann::json* const ranks = list_in(metric, "ranks");
  if (ranks == nullptr) return;
  for (const nlohmann::json& one : *ranks) {
    if (!one.is_object()) continue;
    const auto rank = json_number(one, "rank");
    const auto steady = one.find("steady");
    if (rank && *rank >= 0 && steady != one.end() && steady->is_number())
      found.push_back({static_cast<std::uint32_t>(*rank), steady->get<double>()});
  }
}

}  // namespace

Result<RunFigures> parse_run_figures(std::string_view summary_json) {
  auto ending = parse_summary(summary_json);
  if (!ending) return tl::unexpected(ending.error());
  RunFigures figures;
  figures.ending = *std::move(ending);
  const auto object = parse_json_object(summary_json);
  figures.path = json_string(*object, "path");
  if (const auto* const ranks = list_in(*object, "ranks")) {
    figures.ran_s = time_of_ranks(*ranks);
    std::set<std::string> nodes;
    for (const nlohmann::json& rank : *ranks) {
      if (rank.is_object()) nodes.insert(json_string(rank, "node"));
    }
    figures.nodes = static_cast<std::uint32_t>(nodes.size());
  }
  if (const auto* const metrics = list_in(*object, "metrics")) {
    for (const nlohmann::json& metric : *metrics) {
      if (metric.is_object()) read_metric(metric, figures);
    }
  }
  return figures;
}

}  // namespace dlaunch
