#include "plan/reach.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace dlaunch {

namespace {

constexpr std::size_t kNamedNodes = 8;

std::string error_words(int error) {
  if (error == ETIMEDOUT) return "timed out";
  if (error == EPROTO) return "something else answered there";
  return errno_text(error);
}

/// "gpu12, gpu40 (timed out), gpu13 (No route to host)"; empty if no node failed.
std::string who_failed(std::size_t candidate, const ReachRecord& record, const Cluster& cluster) {
  std::vector<std::pair<int, std::vector<std::string>>> groups;  // in order of the first node
  for (std::size_t node = 1; node < record.nodes(); ++node) {
    const auto& result = record.result(node, candidate);
    if (!result || result->error == 0) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& g) { return g.first == result->error; });
    if (group == groups.end()) group = groups.insert(groups.end(), {result->error, {}});
    group->second.push_back(cluster.nodes[node].name);
  }
  std::string text;
  for (const auto& [error, names] : groups) {
    for (std::size_t i = 0; i < std::min(names.size(), kNamedNodes); ++i)
      text += (text.empty() ? "" : ", ") + names[i];
    if (names.size() > kNamedNodes)
      text += " and " + std::to_string(names.size() - kNamedNodes) + " more";
    text += " (" + error_words(error) + ")";
  }
  return text;
}

/// The problem of a candidate, printed after its address.
std::string fault_of(std::size_t candidate, const ReachRecord& record, const Cluster& cluster) {
  if (const int error = record.open_error(candidate); error != 0)
    return cluster.nodes.front().name + " cannot listen there: " + error_words(error);
  return "not reached by " + who_failed(candidate, record, cluster);
}

}  // namespace

ReachRecord::ReachRecord(std::size_t candidates, std::size_t nodes)
    : nodes_(nodes),
      not_open_(candidates),
      reached_by_(candidates),
      failed_at_(candidates),
      results_(candidates * nodes) {}

void ReachRecord::add(std::size_t node, std::size_t candidate, ReachResult result) {
  if (node == 0 || node >= nodes_ || candidate >= candidates()) return;
  std::optional<ReachResult>& place = results_[candidate * nodes_ + node];
  if (place) return;
  ++(result.error == 0 ? reached_by_ : failed_at_)[candidate];
  place = std::move(result);
}

void ReachRecord::end() {
  for (std::size_t candidate = 0; candidate < candidates(); ++candidate) {
    if (not_open_[candidate] != 0) continue;
    for (std::size_t node = 1; node < nodes_; ++node) add(node, candidate, {ETIMEDOUT, 0, {}});
  }
}

bool ReachRecord::has_failed(std::size_t candidate) const {
  return not_open_[candidate] != 0 || failed_at_[candidate] > 0;
}

bool ReachRecord::is_any_open() const {
  return std::any_of(not_open_.begin(), not_open_.end(), [](int error) { return error == 0; });
}

bool ReachRecord::is_complete(std::size_t candidate) const {
  return not_open_[candidate] != 0 || reached_by_[candidate] + failed_at_[candidate] == nodes_ - 1;
}

std::optional<std::size_t> ReachRecord::reached() const {
  for (std::size_t i = 0; i < candidates(); ++i) {
    if (!has_failed(i) && is_complete(i)) return i;
  }
  return std::nullopt;
}

ReachRecord::State ReachRecord::state() const {
  if (const auto best = reached()) {
    for (std::size_t i = 0; i < *best; ++i) {
      if (!has_failed(i)) return State::likely;
    }
    return State::settled;
  }
  bool all_failed = true;
  bool all_complete = true;
  for (std::size_t i = 0; i < candidates(); ++i) {
    all_failed = all_failed && has_failed(i);
    all_complete = all_complete && is_complete(i);
  }
  return !all_failed ? State::open : all_complete ? State::failed : State::hopeless;
}

const std::optional<ReachResult>& ReachRecord::result(std::size_t node,
                                                      std::size_t candidate) const {
  return results_[candidate * nodes_ + node];
}

Meeting meeting_at(std::size_t candidate, const std::vector<Candidate>& candidates,
                   const ReachRecord& record, const Cluster& cluster, bool keep_planned) {
  const Candidate& chosen = candidates[candidate];
  Meeting meeting{chosen.address, chosen.reason, chosen.routes};
  for (std::size_t better = 0; better < candidate; ++better) {
    meeting.reason += "; " + candidates[better].address + ": " + fault_of(better, record, cluster);
  }
  for (std::size_t node = 1; node < meeting.routes.size(); ++node) {
    const auto& result = record.result(node, candidate);
    const bool is_planned = keep_planned && !meeting.routes[node].interface.empty();
    if (result && !result->route.interface.empty() && !is_planned)
      meeting.routes[node] = result->route;
  }
  return meeting;
}

std::vector<std::uint32_t> who_fails_to_meet(const ReachRecord& record) {
  std::vector<std::uint32_t> failing;
  if (!record.is_any_open() || record.nodes() < 3) return failing;
  for (std::uint32_t node = 1; node < record.nodes(); ++node) {
    bool reaches_any = false;
    for (std::size_t i = 0; i < record.candidates(); ++i) {
      const auto& result = record.result(node, i);
      reaches_any = reaches_any || (record.open_error(i) == 0 && result && result->error == 0);
    }
    if (!reaches_any) failing.push_back(node);
  }
  if (2 * failing.size() > record.nodes() - 1) return {0};
  return failing;
}

Error unreachable(const std::vector<Candidate>& candidates, const ReachRecord& record,
                  const Cluster& cluster, std::uint16_t port) {
  std::string text = "no address of " + cluster.nodes.front().name + " is reached by " +
                     (record.nodes() == 2 ? cluster.nodes[1].name : "all other nodes") +
                     " on port " + std::to_string(port);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::string& interface = candidates[i].routes.front().interface;
    text += "\n         " + candidates[i].address +
            (interface.empty() ? "" : " (" + interface + ")") + ": " + fault_of(i, record, cluster);
  }
  text +=
      "\n         try: allow these connections in the firewall, or another network: --set "
      "rendezvous.interface=NAME";
  return {exit_code::kPreflight, std::move(text)};
}

}  // namespace dlaunch
