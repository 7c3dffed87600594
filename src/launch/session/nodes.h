// The nodes of a run as the rest of the launcher sees them: the requests to them, and their
// messages. ClusterSessions is the real one; tests have one that records what is sent and replays
// what the test wants (tests/unit/launch/fake_nodes.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launch/session/node_clock.h"
#include "model/cluster.h"
#include "model/event.h"
#include "model/ids.h"
#include "wire/message.h"

namespace dlaunch {

/// What happens to the session with a node apart from messages of its agent.
namespace node_news {

/// The session continues, over a new connection or the old one, after `outage` without a message.
/// Reported for each new connection, and at the end of a silence that was reported.
struct Resumed {
  Duration outage{};
  std::string cause;
};
/// Reported once in each outage that users may notice; reconnecting is under way.
struct Silent {
  Duration silence{};
};
/// A sentence about the node for the user.
struct Remark {
  std::string text;
};

}  // namespace node_news

using NodeNews =
    std::variant<event::NodeLost, node_news::Resumed, node_news::Silent, node_news::Remark>;

/// Receives what arrives from each node, in order, always from the event loop. Nothing arrives from
/// a session that was replaced or lost.
struct NodeListener {
  /// Never a SessionMessage. The content of a Facts message is in Nodes::cluster() by then, and no
  /// longer in the message. A Notice is one plain line.
  std::function<void(NodeId, wire::FromAgent)> on_message;
  std::function<void(NodeId, NodeNews)> on_news;
  /// A node that is being connected had to wait for another one: time limits for connecting start
  /// again.
  std::function<void()> on_wait = {};
};

/// Lives on the engine's one thread.
class Nodes {
 public:
  Nodes() = default;
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;
  virtual ~Nodes() = default;

  /// -> Facts of the attempt, or NodeLost. If a node's session was lost, or could not be started,
  /// this makes a new one, to another agent; likewise for a node that was taken out of the set.
  /// `within`: 0: timeouts.connect.
  virtual void connect(NodeId node, Attempt attempt, Duration within) = 0;
  /// Asks a connected node for its facts for a later attempt. A node that was taken out of the set
  /// is part of cluster() again, where one has left or else after the others. -> Facts or NodeLost
  virtual void gather(NodeId node, Attempt attempt) = 0;
  /// Sends nothing to a node without a session (one that never had any).
  virtual void send(NodeId node, const wire::ToAgent& message) = 0;
  /// The node is no longer needed: its agent exits.
  virtual void release(NodeId node) = 0;
  [[nodiscard]] virtual const Cluster& cluster() const = 0;
  /// Makes the result of a test part of cluster(); nullopt: there is none yet.
  virtual void set_meeting(std::optional<Meeting> meeting) = 0;
  /// null: the node has no session.
  [[nodiscard]] virtual NodeClock* clock(NodeId node) = 0;
  /// The environment in which ssh asks the user, for each `process` that connects; empty: ssh
  /// does not ask.
  using Prompts = std::function<std::vector<std::string>(const std::string& process)>;
  virtual void set_prompts(Prompts prompts) = 0;
  /// The user was asked or has answered: time limits for connecting restart.
  virtual void user_asked() = 0;
};

}  // namespace dlaunch
