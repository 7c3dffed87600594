#include "runs/run_ending.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "model/rank_list.h"
#include "model/signal_names.h"
#include "runs/run_record.h"
#include "text/duration_text.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

std::chrono::nanoseconds nanoseconds_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

void read_checkpoint(const nlohmann::json& saved, RunEnding& ending) {
  ending.checkpoint = json_string(saved, "text");
  const auto latest = saved.find("latest");
  if (latest == saved.end() || !latest->is_object()) return;
  if (const auto age = latest->find("age_s"); age != latest->end() && age->is_number())
    ending.checkpoint_age = nanoseconds_of(age->get<double>());
}

void read_first_rank(const nlohmann::json& ranks, RunEnding& ending) {
  if (!ending.first || *ending.first >= ranks.size() || !ranks[*ending.first].is_object()) return;
  const nlohmann::json& rank = ranks[*ending.first];
  ending.first_node = json_string(rank, "node");
  ending.first_error = json_string(rank, "error");
  const std::string signal = json_string(rank, "signal");
  if (const auto code = json_number(rank, "exit_code")) {
    ending.first_status = ExitStatus{false, static_cast<int>(*code), false};
  } else if (!signal.empty()) {
    if (const auto number = signal_number(signal))
      ending.first_status = ExitStatus{true, *number, json_boolean(rank, "core_dumped")};
  }
}

/// The nodes whose loss ended the run, and those that were lost while it was ending.
void read_lost_nodes(const nlohmann::json& run, RunEnding& ending) {
  const auto add = [&](std::string node, std::string what) {
    const auto same = [&](const RunEnding::Lost& one) { return one.node == node; };
    const auto& known = ending.lost_nodes;
    if (node.empty() || std::any_of(known.begin(), known.end(), same)) return;
    ending.lost_nodes.push_back({std::move(node), std::move(what)});
  };
  if (const auto lost = run.find("lost_nodes"); lost != run.end() && lost->is_array()) {
    for (const nlohmann::json& one : *lost) {
      if (one.is_object()) add(json_string(one, "node"), json_string(one, "what"));
    }
  }
  if (const auto ranks = run.find("ranks"); ranks != run.end() && ranks->is_array()) {
    for (const nlohmann::json& rank : *ranks) {
      if (rank.is_object() && json_string(rank, "how") == "lost")
        add(json_string(rank, "node"), "");
    }
  }
}

std::string reason(const RunEnding& ending) {
  if (!ending.left_early.empty()) {
    std::vector<Rank> ranks;
    for (const std::uint32_t rank : ending.left_early) ranks.emplace_back(rank);
    return (ranks.size() == 1 ? "rank " : "ranks ") + rank_ranges(ranks) +
           " left with code 0 before the others";
  }
  if (ending.first) {
    std::string text = "rank " + std::to_string(*ending.first);
    if (!ending.first_node.empty()) text += " on " + plain_line(ending.first_node);
    if (!ending.first_error.empty()) return text + ": " + plain_line(first_line(ending.first_error));
    if (ending.first_status) return text + ' ' + describe(*ending.first_status);
    return text + " failed";
  }
  if (ending.cause == "time-limit") return "the time limit was reached (timeouts.run)";
  if (!ending.detail.empty()) return plain_line(first_line(ending.detail));
  return plain_line(ending.cause);
}

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

Result<RunEnding> parse_summary(std::string_view json) {
  const auto object = parse_json_object(json);
  if (!object) return fail(exit_code::kUsage, "it is not a JSON object");
  const auto code = json_number(*object, "exit_code");
  if (!code) return fail(exit_code::kUsage, "it has no exit_code");
  RunEnding ending;
  ending.run = json_string(*object, "run");
  ending.name = json_string(*object, "name");
  ending.exit_code = static_cast<int>(*code);
  ending.cause = json_string(*object, "cause");
  ending.detail = json_string(*object, "detail");
  ending.signal = json_string(*object, "signal");
  if (const auto slurm = object->find("slurm"); slurm != object->end() && slurm->is_object())
    ending.slurm_said = json_string(*slurm, "said");
  ending.attempt = static_cast<std::uint32_t>(json_number(*object, "attempt").value_or(0));
  if (const auto saved = object->find("checkpoint"); saved != object->end() && saved->is_object())
    read_checkpoint(*saved, ending);
  if (const auto seconds = object->find("elapsed_s");
      seconds != object->end() && seconds->is_number()) {
    ending.elapsed = nanoseconds_of(seconds->get<double>());
  }
  if (const auto first = json_number(*object, "first"); first && *first >= 0)
    ending.first = static_cast<std::uint32_t>(*first);
  if (const auto left = object->find("left_early"); left != object->end() && left->is_array()) {
    for (const auto& rank : *left) {
      if (rank.is_number_unsigned()) ending.left_early.push_back(rank.get<std::uint32_t>());
    }
  }
  if (const auto ranks = object->find("ranks"); ranks != object->end() && ranks->is_array()) {
    ending.ranks = static_cast<std::uint32_t>(ranks->size());
    read_first_rank(*ranks, ending);
  }
  read_lost_nodes(*object, ending);
  return ending;
}

std::string ending_text(const RunEnding& ending) {
  const std::string time = duration_text(ending.elapsed);
  if (ending.exit_code == 0) return "done in " + time;
  if (ending.cause == "cancelled") {
    return "stopped " +
           (ending.signal.empty() ? "because the process that started it was gone"
                                  : "by " + plain_line(ending.signal)) +
           " after " + time +
           (ending.slurm_said.empty() ? "" : " (" + plain_line(ending.slurm_said) + ')');
  }
  return "failed after " + time + ": " + reason(ending);
}

std::string ending_code(const RunEnding& ending) {
  const std::string code = std::to_string(ending.exit_code);
  if (ending.exit_code == 0) return code;
  if (ending.cause == "cancelled") return code + ' ' + plain_line(ending.signal);
  if (!ending.left_early.empty())
    return code + ", rank " + std::to_string(ending.left_early.front());
  if (ending.first) return code + ", rank " + std::to_string(*ending.first);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kShort{
      {{"time-limit", " limit"},
       {"node-lost", " lost"},
       {"internal", " error"},
       {"plan", " plan"}}};
  for (const auto& [cause, word] : kShort) {
    if (ending.cause == cause) return code + std::string(word);
  }
  return code;
}

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
