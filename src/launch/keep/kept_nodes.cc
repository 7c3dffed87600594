#include "launch/keep/kept_nodes.h"

#include <algorithm>
#include <utility>

#include "text/strings.h"

namespace dlaunch {

namespace {

using State = KeptNode::State;

constexpr MonotonicTime kFirstPause = std::chrono::milliseconds(500);
constexpr MonotonicTime kLongestPause = std::chrono::seconds(30);
constexpr unsigned kMostDoublings = 6;
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
      return "is being connected again" + (node.trouble.empty() ? "" : " (" + node.trouble + ')');
    case State::idle:
    case State::gone:
      break;
  }
  return "is not kept any more";
}

}  // namespace

const char* kept_state_text(State state) {
  switch (state) {
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
  return "reconnecting";
}

void KeptNodes::enter(KeptNode& node, State state, MonotonicTime now) {
  node.state = state;
  node.since = now;
}

void KeptNodes::add(std::string name, std::string key, MonotonicTime now) {
  KeptNode& node = nodes_.emplace_back();
  node.name = std::move(name);
  node.key = std::move(key);
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
                     kLongestPause);
  ++node.failures;
  node.next_try = now + pause;
  enter(node, State::waiting, now);
}

std::vector<std::size_t> KeptNodes::start(MonotonicTime now) {
  std::vector<std::size_t> due;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].state != State::waiting || nodes_[i].next_try > now) continue;
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
      refusal = {true, node.name + ' ' + why_not(node)};
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
    lost(i, user_of(node) + " has ended without giving it back", now);
    cut.push_back(i);
  }
  return cut;
}

std::vector<std::size_t> KeptNodes::give_up(const std::vector<std::string>& hosts,
                                            MonotonicTime now, std::size_t& known) {
  std::vector<std::size_t> now_gone;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    KeptNode& node = nodes_[i];
    const bool is_meant =
        hosts.empty() || std::find(hosts.begin(), hosts.end(), node.name) != hosts.end();
    if (!is_meant || node.state == State::gone) continue;
    ++known;
    node.goes = true;
    if (node.state == State::parting || node.state == State::lent) continue;
    enter(node, State::gone, now);
    now_gone.push_back(i);
  }
  return now_gone;
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
  for (const KeptNode& node : nodes_) {
    if (node.state == State::waiting && (!first || node.next_try < *first)) first = node.next_try;
  }
  return first;
}

std::string kept_use_text(const KeptUse& use) {
  if (use.is_other_build) {
    return "the kept nodes are those of another build of dlaunch, which gives them up; this run "
           "connects its nodes";
  }
  if (use.lent == 0 && use.refused.empty()) return "";
  if (!use.unusable.empty()) return "the kept nodes are not used: " + use.unusable;
  if (use.lent == use.wanted) return "uses " + counted(use.lent, "kept node");
  std::string text = "uses " + std::to_string(use.lent) + " kept of " +
                     counted(use.wanted, "node") + " and connects the others";
  for (std::size_t i = 0; i < std::min(use.refused.size(), kMostRefused); ++i)
    text += (i == 0 ? ": " : "; ") + use.refused[i];
  if (use.refused.size() > kMostRefused)
    text += "; and " + std::to_string(use.refused.size() - kMostRefused) + " more";
  return text;
}

}  // namespace dlaunch
