#include "launch/session/missing_places.h"

#include <algorithm>

#include "plan/places.h"
#include "report/plain_text.h"
#include "spec/hostlist.h"

namespace dlaunch {

namespace {

constexpr const char* kIndent = "\n         ";

bool is_workdir(const StartFailure& failure) {
  return failure.step == StartFailure::Step::workdir;
}

}  // namespace

bool needs_place_check(const LaunchPlan& plan) {
  return std::any_of(plan.nodes.begin(), plan.nodes.end(),
                     [](const NodePlan& node) { return node.is_remote; });
}

wire::CheckPlaces check_message(const JobSpec& spec, const LaunchPlan& plan, NodeIndex node) {
  wire::CheckPlaces check;
  check.attempt = plan.attempt;
  check.workdir = plan.workdir;
  if (plan.nodes[node.value].is_remote) check.carried = plan.carried;
  Places places = places_of(spec, plan, node);
  for (Places::Program& program : places.programs)
    check.programs.push_back({std::move(program.name), std::move(program.search_path)});
  check.files = std::move(places.files);
  return check;
}

MissingPlaces::MissingPlaces(const LaunchPlan& plan, const Cluster& cluster)
    : attempt_(plan.attempt) {
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    names_.push_back(plan.nodes[i].name);
    awaited_.insert(NodeIndex(i));
    const std::string& refused = cluster.nodes[i].facts.output_refused;
    if (!refused.empty())
      note(NodeIndex(i), {"no folder for the output of ranks: " + plain_line(refused),
                          "",
                          exit_code::kCannotExecute,
                          {}});
  }
}

void MissingPlaces::add(NodeIndex node, const wire::PlacesMissing& answer) {
  if (answer.attempt != attempt_ || awaited_.erase(node) == 0) return;
  for (const StartFailure& failure : answer.missing) {
    note(node, {plain_line(describe(failure)) +
                    (is_workdir(failure) ? " (it must be there on every node)" : ""),
                failure.search_path,
                failure.code(),
                {},
                failure.path});
  }
}

void MissingPlaces::note(NodeIndex node, Missing missing) {
  auto known = std::find_if(missing_.begin(), missing_.end(), [&](const Missing& other) {
    return other.what == missing.what && other.search_path == missing.search_path;
  });
  if (known == missing_.end()) known = missing_.insert(known, std::move(missing));
  known->nodes.insert(node);
}

std::string MissingPlaces::awaited() const {
  std::vector<std::string> names;
  names.reserve(awaited_.size());
  for (const NodeIndex node : awaited_) names.push_back(names_[node.value]);
  return spec::compress_hostlist(names);
}

bool MissingPlaces::any_of(const std::function<bool(const std::string&)>& is) const {
  return std::any_of(missing_.begin(), missing_.end(),
                     [&](const Missing& one) { return !one.path.empty() && is(one.path); });
}

std::optional<Error> MissingPlaces::error() const {
  if (missing_.empty()) return std::nullopt;
  int code = 0;
  std::string text;
  std::vector<Missing> sorted = missing_;  // answers come in any order
  std::stable_sort(sorted.begin(), sorted.end(), [](const Missing& a, const Missing& b) {
    return *a.nodes.begin() < *b.nodes.begin();
  });
  for (const Missing& missing : sorted) {
    std::vector<std::string> names;
    for (const NodeIndex node : missing.nodes) names.push_back(names_[node.value]);
    code = std::max(code, missing.code);
    text += (text.empty() ? "" : kIndent) + spec::compress_hostlist(names) + ": " + missing.what;
    if (!missing.search_path.empty())
      text += std::string(kIndent) + "PATH there: " + plain_line(missing.search_path);
  }
  if (missing_.size() > 1) text = std::string("nothing was started, because of") + kIndent + text;
  return Error{code, std::move(text)};
}

}  // namespace dlaunch
