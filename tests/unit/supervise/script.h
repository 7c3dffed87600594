// A run as a script: events go in at chosen times, actions come out and are compared whole.
#pragma once

#include <csignal>
#include <initializer_list>
#include <ostream>
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
  std::string operator()(const action::MakePlan& a) { return "plan " + num(a.attempt); }
  std::string operator()(const action::StartRanks& a) { return "start " + num(a.node); }
  std::string operator()(const action::StopRanks& a) {
    return "stop " + num(a.node) + " with " + std::to_string(a.signal);
  }
  std::string operator()(const action::KillRanks& a) { return "kill " + num(a.node); }
  std::string operator()(const action::ReleaseNode& a) { return "release " + num(a.node); }
  std::string operator()(const action::Tell& a) { return "tell \"" + a.line + "\""; }
  std::string operator()(const action::Finish& a) {
    return std::string("finish ") + name_of(a.report.cause) + " " +
           std::to_string(a.report.exit_code) + " \"" + a.report.detail + "\"";
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
  explicit Script(SupervisorConfig config) : supervisor_(std::move(config)) {}

  /// A run in phase run: node_of_rank[i] is the node of rank i. The start took no time.
  Script(SupervisorConfig config, const std::vector<std::uint32_t>& node_of_rank) : Script(config) {
    (void)start();
    for (std::uint32_t i = 0; i < config.nodes; ++i) (void)ready(i);
    (void)plan(node_of_rank);
    for (std::uint32_t i = 0; i < node_of_rank.size(); ++i) (void)rank_started(i);
  }

  /// All that follows happens so long after the start.
  Script& at(milliseconds since_start) {
    now_ = since_start;
    return *this;
  }

  std::string start() { return describe(supervisor_.start(mono())); }
  std::string on(const Event& event) {
    Actions actions = supervisor_.on(event, mono(), wall_at(now_));
    for (const Action& action : actions) {
      if (const auto* finish = std::get_if<action::Finish>(&action)) report_ = finish->report;
    }
    return describe(actions);
  }

  std::string ready(std::uint32_t node) { return on(event::NodeReady{NodeIndex{node}}); }
  std::string lost(std::uint32_t node, std::string what = "gone") {
    return on(event::NodeLost{NodeIndex{node}, std::move(what)});
  }
  std::string plan(const std::vector<std::uint32_t>& node_of_rank) {
    event::PlanMade made;
    for (const std::uint32_t node : node_of_rank) made.node_of_rank.emplace_back(node);
    return on(made);
  }
  std::string rank_started(std::uint32_t rank) {
    return on(event::RankStarted{{}, Rank{rank}, 1000, wall_at(now_)});
  }
  std::string exited(std::uint32_t rank, ExitStatus status) { return exited(rank, status, now_); }
  /// `ended`: when, since the start, on the node's clock.
  std::string exited(std::uint32_t rank, ExitStatus status, milliseconds ended) {
    return on(event::RankExited{{}, Rank{rank}, status, wall_at(ended)});
  }
  std::string not_started(std::uint32_t rank, StartFailure failure) {
    return on(event::RankNotStarted{{}, Rank{rank}, std::move(failure), wall_at(now_)});
  }
  std::string empty(std::uint32_t node, std::uint32_t leftovers = 0) {
    return on(event::NodeEmpty{{}, NodeIndex{node}, leftovers});
  }
  std::string cancel(int number) { return on(event::CancelSignal{number}); }
  std::string tick() { return on(event::Tick{}); }

  /// Of the last call, relative to the start; nullopt: none.
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
  RunReport report_;
};

inline SupervisorConfig config(std::uint32_t nodes) {
  SupervisorConfig c;
  c.nodes = nodes;
  c.stop_signal = SIGTERM;
  c.stop_grace = seconds(30);
  c.connect_limit = seconds(30);
  return c;
}

}  // namespace dlaunch
