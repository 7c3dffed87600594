#include "launch/keep/kept_nodes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "text/strings.h"

namespace dlaunch {

namespace {

using State = KeptNode::State;

constexpr MonotonicTime kFirstPause = std::chrono::milliseconds(500);
constexpr MonotonicTime kLongestPause = std::chrono::seconds(30);
constexpr MonotonicTime kLongestPauseOfMore = std::chrono::minutes(5);  // of a further agent
constexpr unsigned kMostDoublings = 10;
// In a series of short runs, most have ended by then.
constexpr MonotonicTime kCrowdedFor = std::chrono::seconds(2);
constexpr std::size_t kMostAgents = 4;   // per host
constexpr std::size_t kMostRefused = 4;  // that a run names

std::string user_of(const KeptNode& node) {
  return node.run.empty() ? "another command" : "run " + node.run;
}

std::string why_not(const KeptNode& node) {
  if (node.goes) return "is being given up";
  switch (node.state) {
    case State::parting:
    case State::lent:
      return "is used by " + user_of(node);
    case State::connecting:
    case State::waiting:
      return "is being reconnected" + (node.trouble.empty() ? "" : " (" + node.trouble + ')');
    case State::idle:
    case State::gone:
      break;
  }
  return "is not kept any more";
}

}  // namespace

const char* kept_state_text(const KeptNode& node) {
  switch (node.state) {
    case State::idle:
      return "idle";
    case State::parting:
    case State::lent:
      return "in use";
    case State::gone:
      return "given up";
    case State::connecting:
    case State::waiting:
      break;
  }
  return node.failures == 0 ? "connecting" : "reconnecting";
}

void KeptNodes::enter(KeptNode& node, State state, MonotonicTime now) {
  node.state = state;
  node.since = now;
}

void KeptNodes::add(std::string name, std::string key, MonotonicTime now) {
  KeptNode& node = nodes_.emplace_back();
  node.name = std::move(name);
  node.key = std::move(key);
  node.host = nodes_.size() - 1;
  node.since = now;
}

void KeptNodes::connected(std::size_t index, MonotonicTime now) {
  KeptNode& node = nodes_[index];
  node.failures = 0;
  node.trouble.clear();
  if (node.state != State::gone) become_free(node, now);
}

void KeptNodes::become_free(KeptNode& node, MonotonicTime now) {
  node.holder = 0;
  node.run.clear();
  enter(node, node.goes ? State::gone : State::idle, now);
}

void KeptNodes::lost(std::size_t index, std::string why, MonotonicTime now) {
  KeptNode& node = nodes_[index];
  if (node.state == State::gone) return;
  become_free(node, now);
  if (node.goes) return;
  node.trouble = std::move(why);
  const MonotonicTime pause =
      node.failures == 0
          ? MonotonicTime(0)
          : std::min(kFirstPause * (1 << std::min(node.failures - 1, kMostDoublings)),
                     node.host == index ? kLongestPause : kLongestPauseOfMore);
  ++node.failures;
  node.next_try = now + pause;
  enter(node, State::waiting, now);
}

/// The hosts whose agents are all lent to runs, and when each gets another agent.
std::map<std::size_t, MonotonicTime> KeptNodes::crowded() const {
  struct Agents {
    std::size_t count = 0;
    bool all_are_lent = true;
    MonotonicTime last{0};
  };
  std::map<std::size_t, Agents> hosts;
  for (const KeptNode& node : nodes_) {
    Agents& agents = hosts[node.host];
    ++agents.count;
    agents.all_are_lent = agents.all_are_lent && node.state == State::lent && !node.goes;
    agents.last = std::max(agents.last, node.since);
  }
  std::map<std::size_t, MonotonicTime> crowded;
  for (const auto& [host, agents] : hosts) {
    if (agents.all_are_lent && agents.count < kMostAgents)
      crowded.emplace(host, agents.last + kCrowdedFor);
  }
  return crowded;
}

std::vector<std::size_t> KeptNodes::add_beside(MonotonicTime now) {
  std::vector<std::size_t> hosts;
  for (const auto& [host, due] : crowded()) {
    if (due <= now) hosts.push_back(host);
  }
  for (const std::size_t host : hosts) {
    KeptNode another;
    another.name = nodes_[host].name;
    another.key = nodes_[host].key;
    another.host = host;
    another.next_try = now;
    enter(another, State::waiting, now);
    nodes_.push_back(std::move(another));
  }
  return hosts;
}

/// The hosts that have an agent for the next run, or will have one: they need no further agent.
std::set<std::size_t> KeptNodes::served_hosts() const {
  std::set<std::size_t> hosts;
  for (const KeptNode& node : nodes_) {
    if (node.state == State::idle || node.state == State::parting ||
        node.state == State::connecting)
      hosts.insert(node.host);
  }
  return hosts;
}

std::vector<std::size_t> KeptNodes::start(MonotonicTime now) {
  std::vector<std::size_t> due;
  const std::set<std::size_t> served = served_hosts();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].state != State::waiting || nodes_[i].next_try > now) continue;
    if (nodes_[i].host != i && served.contains(nodes_[i].host)) continue;
    enter(nodes_[i], State::connecting, now);
    due.push_back(i);
  }
  return due;
}

bool KeptNodes::has(const std::string& key) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const KeptNode& node) {
    return node.key == key && node.state != State::gone;
  });
}

tl::expected<std::size_t, KeptNodes::Refusal> KeptNodes::want(const std::string& key,
                                                              ClientId client,
                                                              const std::string& run,
                                                              MonotonicTime now) {
  Refusal refusal;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    KeptNode& node = nodes_[i];
    if (node.key != key || node.state == State::gone) continue;
    if (node.state != State::idle || node.goes) {
      if (!refusal.is_known) refusal = {true, node.name + ' ' + why_not(node)};
      continue;
    }
    node.holder = client;
    node.run = run;
    used_ = now;
    enter(node, State::parting, now);
    return i;
  }
  return tl::unexpected(refusal);
}

bool KeptNodes::lent(std::size_t index, MonotonicTime now) {
  KeptNode& node = nodes_[index];
  if (node.holder != 0) {
    enter(node, State::lent, now);
    return true;
  }
  become_free(node, now);
  return false;
}

bool KeptNodes::given_back(std::size_t index, ClientId client, MonotonicTime now) {
  if (index >= nodes_.size() || nodes_[index].state != State::lent ||
      nodes_[index].holder != client)
    return false;
  used_ = now;
  become_free(nodes_[index], now);
  return true;
}

std::vector<std::size_t> KeptNodes::client_gone(ClientId client, MonotonicTime now) {
  std::vector<std::size_t> cut;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    KeptNode& node = nodes_[i];
    if (node.holder != client) continue;
    used_ = now;
    node.holder = 0;
    if (node.state != State::lent) continue;  // its agent is about to be free
    lost(i, user_of(node) + " ended without returning the node", now);
    cut.push_back(i);
  }
  return cut;
}

KeptNodes::Farewell KeptNodes::give_up(const std::vector<std::string>& hosts, MonotonicTime now) {
  Farewell farewell;
  std::set<std::size_t> known;
  std::set<std::size_t> in_use;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    KeptNode& node = nodes_[i];
    const bool is_meant =
        hosts.empty() || std::find(hosts.begin(), hosts.end(), node.name) != hosts.end();
    if (!is_meant || node.state == State::gone) continue;
    known.insert(node.host);
    node.goes = true;
    if (node.state == State::parting || node.state == State::lent) {
      in_use.insert(node.host);
      continue;
    }
    enter(node, State::gone, now);
    farewell.gone.push_back(i);
  }
  farewell.hosts = static_cast<std::uint32_t>(known.size());
  farewell.in_use = static_cast<std::uint32_t>(in_use.size());
  return farewell;
}

std::vector<std::size_t> KeptNodes::by_host() const {
  std::vector<std::size_t> entries;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].state != State::gone) entries.push_back(i);
  }
  std::stable_sort(entries.begin(), entries.end(), [this](std::size_t a, std::size_t b) {
    return nodes_[a].host < nodes_[b].host;
  });
  return entries;
}

bool KeptNodes::is_used() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const KeptNode& node) {
    return node.state == State::parting || node.state == State::lent;
  });
}

std::optional<MonotonicTime> KeptNodes::idle_end() const {
  return is_used() ? std::nullopt : std::optional(used_ + idle_limit_);
}

bool KeptNodes::is_over(MonotonicTime now) const {
  if (is_used()) return false;
  const bool is_empty = std::all_of(nodes_.begin(), nodes_.end(),
                                    [](const KeptNode& node) { return node.state == State::gone; });
  return is_empty || now >= used_ + idle_limit_;
}

std::optional<MonotonicTime> KeptNodes::next() const {
  std::optional<MonotonicTime> first = idle_end();
  const std::set<std::size_t> served = served_hosts();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const KeptNode& node = nodes_[i];
    if (node.state != State::waiting || (node.host != i && served.contains(node.host))) continue;
    if (!first || node.next_try < *first) first = node.next_try;
  }
  for (const auto& [host, due] : crowded()) {
    if (!first || due < *first) first = due;
  }
  return first;
}

std::string kept_use_text(const KeptUse& use) {
  if (use.is_other_build) {
    return "the kept nodes belong to another build of dlaunch, which gives them up; this run "
           "connects to its nodes itself";
  }
  if (use.lent == 0 && use.refused.empty()) return "";
  if (!use.unusable.empty()) return "the kept nodes are not used: " + use.unusable;
  if (use.lent == use.wanted) return "uses " + counted(use.lent, "kept node");
  std::string text = "uses kept connections for " + std::to_string(use.lent) + " of " +
                     counted(use.wanted, "node") + " and connects to the others";
  for (std::size_t i = 0; i < std::min(use.refused.size(), kMostRefused); ++i)
    text += (i == 0 ? ": " : "; ") + use.refused[i];
  if (use.refused.size() > kMostRefused)
    text += "; and " + std::to_string(use.refused.size() - kMostRefused) + " more";
  return text;
}

}  // namespace dlaunch
