// A run as a script: events are given at chosen times, and the actions are compared as a whole.
#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervise/supervisor.h"

namespace dlaunch {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Actions = std::vector<Action>;

template <class Tag>
std::string num(Id<Tag> id) {
  return std::to_string(id.value);
}

struct ActionWords {
  std::string operator()(const action::ConnectNode& a) { return "connect " + num(a.node); }
  std::string operator()(const action::GatherFacts& a) {
    return "gather " + num(a.node) + " for " + num(a.attempt);
  }
  std::string operator()(const action::Restart& a) { return "attempt " + num(a.next) + " follows"; }
  std::string operator()(const action::MakePlan& a) { return "plan " + num(a.attempt); }
  std::string operator()(const action::StartRanks& a) { return "start " + num(a.node); }
  std::string operator()(const action::StopRanks& a) {
    return "stop " + num(a.node) + " with " + std::to_string(a.signal);
  }
  std::string operator()(const action::KillRanks& a) { return "kill " + num(a.node); }
  std::string operator()(const action::ReleaseNode& a) { return "release " + num(a.node); }
  std::string operator()(const action::RemoveNode& a) { return "remove " + num(a.node); }
  std::string operator()(const action::Tell& a) { return "tell \"" + a.line + "\""; }
  std::string operator()(const action::Finish& a) {
    return std::string("finish ") + name_of(a.report.outcome.cause) + " " +
           std::to_string(a.report.outcome.exit_code) + " \"" + a.report.outcome.detail + "\"";
  }
};

inline std::string describe(const Action& action) {
  return std::visit(ActionWords{}, action);
}

/// "connect 0; connect 1": what the tests compare with.
inline std::string describe(const Actions& actions) {
  std::string text;
  for (const Action& action : actions) text += (text.empty() ? "" : "; ") + describe(action);
  return text;
}

inline WallTime wall_at(milliseconds since_start) {
  return WallTime(seconds(1'800'000'000)) + since_start;
}

inline ExitStatus code(int value) {
  return {false, value, false};
}
inline ExitStatus signal(int number) {
  return {true, number, false};
}

class Script {
 public:
  explicit Script(SupervisorConfig config, std::span<const Transition> table = lifecycle())
      : supervisor_(std::move(config), table) {}

  /// A run in phase run: node_of_rank[i] is the node of rank i. The start took no time.
  Script(SupervisorConfig config, const std::vector<std::uint32_t>& node_of_rank) : Script(config) {
    (void)start();
    for (const auto& [node, name] : config.nodes) (void)ready(node.value);
    (void)plan(node_of_rank);
    for (std::uint32_t i = 0; i < node_of_rank.size(); ++i) (void)rank_started(i);
  }

  /// Everything that follows happens this long after the start.
  Script& at(milliseconds since_start) {
    now_ = since_start;
    return *this;
  }

  std::string start() { return describe(supervisor_.start(mono())); }
  std::string on(const Event& event) {
    Actions actions = supervisor_.on(event, mono());
    for (const Action& action : actions) {
      const bool signals = std::holds_alternative<action::StopRanks>(action) ||
                           std::holds_alternative<action::KillRanks>(action);
      if (signals && !signalled_) signalled_ = now_;
      if (const auto* finish = std::get_if<action::Finish>(&action)) report_ = finish->report;
    }
    return describe(actions);
  }

  /// Events that follow are of this attempt.
  Script& attempt(std::uint32_t number) {
    attempt_ = Attempt{number};
    signalled_.reset();
    return *this;
  }
  std::string ready(std::uint32_t node) { return on(event::NodeReady{NodeId{node}, attempt_}); }
  std::string lost(std::uint32_t node, std::string what = "gone") {
    return on(event::NodeLost{NodeId{node}, std::move(what)});
  }
  std::string added(std::uint32_t node, std::string name = "") {
    return on(event::NodeAdded{NodeId{node}, std::move(name)});
  }
  std::string withdrawn(std::uint32_t node) { return on(event::NodeWithdrawn{NodeId{node}}); }
  std::string plan(const std::vector<std::uint32_t>& node_of_rank, std::vector<bool> decides = {}) {
    event::PlanMade made;
    made.attempt = attempt_;
    made.decides = std::move(decides);
    for (const std::uint32_t node : node_of_rank) made.node_of_rank.emplace_back(node);
    return on(made);
  }
  std::string rank_started(std::uint32_t rank) {
    return on(event::RankStarted{attempt_, Rank{rank}, 1000, wall_at(now_)});
  }
  std::string exited(std::uint32_t rank, ExitStatus status) { return exited(rank, status, now_); }
  /// `ended`: time of the end since the start, on the node's clock. A signal sent before that has
  /// arrived before that.
  std::string exited(std::uint32_t rank, ExitStatus status, milliseconds ended) {
    const bool after_signal = signalled_ && ended > *signalled_;
    return on(event::RankExited{attempt_, Rank{rank}, status, wall_at(ended), after_signal,
                                clock_error_});
  }
  /// For the ends that follow.
  void clock_error(milliseconds error) { clock_error_ = error; }
  std::string not_started(std::uint32_t rank, StartFailure failure) {
    return on(event::RankNotStarted{attempt_, Rank{rank}, std::move(failure), wall_at(now_)});
  }
  std::string empty(std::uint32_t node, std::uint32_t leftovers = 0) {
    return on(event::NodeEmpty{attempt_, NodeId{node}, leftovers});
  }
  std::string port_taken(std::uint16_t port, std::string holder) {
    return on(event::PortTaken{attempt_, Rank{0}, {port, std::move(holder)}});
  }
  std::string cancel(int number) { return on(event::CancelSignal{number}); }
  std::string end_in(milliseconds left) { return on(event::Deadline{mono() + left}); }
  std::string tick() { return on(event::Tick{}); }

  /// After the last call, relative to the start; nullopt: none.
  [[nodiscard]] std::optional<MonotonicTime> deadline() const {
    const auto due = supervisor_.deadline();
    if (!due) return std::nullopt;
    return *due - kStart;
  }
  [[nodiscard]] const RunReport& report() const { return report_; }
  [[nodiscard]] RankEnd::How how(std::uint32_t rank) const { return report_.ranks.at(rank).how; }
  [[nodiscard]] const Supervisor& supervisor() const { return supervisor_; }

 private:
  static constexpr MonotonicTime kStart = seconds(777);  // a monotonic clock starts anywhere
  [[nodiscard]] MonotonicTime mono() const { return kStart + now_; }

  Supervisor supervisor_;
  milliseconds now_{0};
  Attempt attempt_;
  std::optional<milliseconds> signalled_;  // StopRanks or KillRanks was sent
  milliseconds clock_error_{0};
  RunReport report_;
};

inline SupervisorConfig config(std::uint32_t nodes) {
  SupervisorConfig c;
  c.nodes.clear();
  for (std::uint32_t i = 0; i < nodes; ++i) c.nodes[NodeId{i}] = "";
  c.stop_signal = SIGTERM;
  c.stop_grace = seconds(30);
  c.connect_limit = seconds(30);
  c.restart.backoff_min = seconds(5);
  return c;
}

}  // namespace dlaunch
