#include "launch/pmix_start.h"

#include <algorithm>

#include "report/plain_text.h"
#include "spec/hostlist.h"

namespace dlaunch {

bool needs_pmix(const LaunchPlan& plan) {
  return uses_mpi(plan.framework);
}

wire::PreparePmix prepare_message(const LaunchPlan& plan, std::string_view secret) {
  wire::PreparePmix message;
  message.attempt = plan.attempt;
  message.name_space = "dlaunch-" + plan.run_id + '-' + std::to_string(plan.attempt.value) + '-';
  message.name_space += secret;
  for (const NodePlan& node : plan.nodes)
    message.nodes.push_back({node.name, spans_of(node.ranks)});
  return message;
}

PmixStart::PmixStart(const LaunchPlan& plan) : attempt_(plan.attempt) {
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    names_.push_back(plan.nodes[i].name);
    awaited_.insert(NodeIndex(i));
  }
}

void PmixStart::add(NodeIndex node, const wire::PmixReady& answer) {
  if (answer.attempt != attempt_ || awaited_.erase(node) == 0 || answer.refused.empty()) return;
  std::string why = plain_line(answer.refused);
  auto known = std::find_if(refusals_.begin(), refusals_.end(),
                            [&](const Refusal& other) { return other.why == why; });
  if (known == refusals_.end()) known = refusals_.insert(known, {std::move(why), {}});
  known->nodes.insert(node);
}

std::string PmixStart::name_of(const std::set<NodeIndex>& nodes) const {
  std::vector<std::string> names;
  for (const NodeIndex node : nodes) names.push_back(names_[node.value]);
  return spec::compress_hostlist(names);
}

std::string PmixStart::awaited() const {
  return name_of(awaited_);
}

std::optional<Error> PmixStart::error() const {
  if (refusals_.empty()) return std::nullopt;
  std::vector<Refusal> sorted = refusals_;  // answers come in any order
  std::sort(sorted.begin(), sorted.end(),
            [](const Refusal& a, const Refusal& b) { return *a.nodes.begin() < *b.nodes.begin(); });
  std::string text;
  for (const Refusal& refusal : sorted) {
    text += (text.empty() ? "" : "\n         ") + name_of(refusal.nodes) + ": " + refusal.why;
  }
  return Error{exit_code::kPreflight, std::move(text)};
}

}  // namespace dlaunch
