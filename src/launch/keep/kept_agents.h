// The agents of a keeper: their connections and sessions, without the rules about who may have
// which agent (kept_nodes.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/connect/connection_process.h"
#include "launch/connect/node_connector.h"
#include "launch/connect/node_targets.h"
#include "launch/session/session.h"
#include "model/job_spec.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the keeper's one thread. Agents are named by their index.
class KeptAgents {
 public:
  struct Listener {
    std::function<void(std::size_t)> on_answer;  // it is connected, or another session has begun
    std::function<void(std::size_t, const std::string& why)> on_loss;
    std::function<void(std::size_t)> on_free;  // it waits for a Hello: take the connection's ends
    std::function<void()> on_condition;        // an answer to ask_for_condition()
  };

  /// `spec`: its connect and timeouts are used.
  KeptAgents(EventLoop& loop, const JobSpec& spec, std::vector<NodeTarget> targets,
             Listener listener);

  /// Adds another agent on the node of `other`.
  void add_beside(std::size_t other);
  [[nodiscard]] std::size_t size() const { return held_.size(); }
  [[nodiscard]] const NodeTarget& target(std::size_t i) const { return targets_[i]; }
  [[nodiscard]] NodeConnector& connector() { return connector_; }

  void connect(std::size_t i);
  /// Tells the agent to expect the session of a run. on_free or on_loss follows within a second;
  /// on_free perhaps from inside this call.
  void part(std::size_t i);
  /// Duplicates of the ends of a connection whose agent waits for a Hello: what it sends, and what
  /// is sent to it.
  [[nodiscard]] std::vector<UniqueFd> ends(std::size_t i) const;
  /// The agent was given back. For a while it can be lent again as it is; then a session begins.
  void rest(std::size_t i);
  void end_rest(std::size_t i);
  /// The process that had the agent is gone, so nothing is known about the agent.
  void cut(std::size_t i);
  /// The agent ends, and does not answer any more.
  void give_up(std::size_t i);
  [[nodiscard]] bool all_have_ended() const;

  /// Call only while no run has the agent. condition() is empty until it answers.
  void ask_for_condition(std::size_t i);
  void forget_condition(std::size_t i) { held_[i]->condition.reset(); }
  [[nodiscard]] const std::optional<NodeCondition>& condition(std::size_t i) const {
    return held_[i]->condition;
  }
  /// An agent answers a question about its node within this time.
  static constexpr std::chrono::seconds kInspection{4};

 private:
  struct Held {
    explicit Held(EventLoop& loop) : limit(loop) {}
    std::unique_ptr<Session> session;
    std::optional<Connection> connection;  // while a run has it, and while it rests
    std::uint64_t last_session = 0;
    Timer limit;  // for parting, and for the rest
    bool was_connected = false;
    bool is_parting = false;
    std::optional<NodeCondition> condition;
  };

  [[nodiscard]] Session::Settings settings(std::size_t i, bool is_kept);
  void begin_session(std::size_t i, Connection connection, bool is_kept);
  void hear(std::size_t i, const wire::FromAgent& message);
  void answered(std::size_t i);
  void lost(std::size_t i, const std::string& why);
  void parted(std::size_t i);
  void retire(std::size_t i);
  void drop(Connection connection);
  [[nodiscard]] bool serve(NodeId node, const wire::ServeProgram& order);

  EventLoop& loop_;
  const JobSpec& spec_;
  const Listener listener_;
  std::vector<NodeTarget> targets_;
  NodeConnector connector_;
  std::vector<std::unique_ptr<Held>> held_;
  std::vector<std::unique_ptr<Session>> retired_;  // whose processes may not have ended
  std::vector<std::unique_ptr<ConnectionProcess>> dropped_;
};

}  // namespace dlaunch
