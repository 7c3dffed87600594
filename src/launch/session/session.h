// The session with the agent of one node: greets it, forwards its messages, watches that it is
// alive, and reports why it was lost.
//
// If reconnecting is possible (Settings::way_back), the listener is not told about the end of a
// connection, or about a few silent heartbeat intervals: a new connection is made, and the session
// continues over it. The node is lost when nothing was heard from its agent for lost_after, at once
// when a new connection finds no agent, and at once when malformed frames arrive. Ranks may outlive
// the loss by the rest of their agent's lease; NodeLost says how long.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/connect/connection_process.h"
#include "launch/connect/connector.h"
#include "launch/connect/reconnection.h"
#include "launch/session/node_clock.h"
#include "launch/session/node_notices.h"
#include "launch/session/nodes.h"
#include "model/job_spec.h"
#include "os/channel.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class Session {
 public:
  struct Settings {
    std::string node_name;
    std::uint64_t session = 0;
    Duration fence_after;
    Duration lost_after;
    Reconnection::Way way_back{};  // none: the session ends with the connection
    /// Exit code 128 + n may say how the connecting program ended, not the agent. ssh(1) ends with
    /// the code of its command.
    bool codes_are_its_own = false;
    /// The connection has served other sessions. If the agent does not answer the Hello, the
    /// connection is useless: the node is lost at once, and another connection may be made.
    bool is_kept = false;
  };
  /// Like NodeListener, for this one node.
  struct Listener {
    std::function<void(wire::FromAgent)> on_message;
    std::function<void(NodeNews)> on_news;
    /// After release(): the session has ended, and take_connection() may be called. Must not
    /// destroy the session.
    std::function<void()> on_parted = {};
    std::function<void(const wire::ProgramServed&)> on_served = {};
  };

  Session(EventLoop& loop, NodeId node, Connection connection, Settings settings,
          Listener listener);

  /// Sends Hello and, with a request, asks for facts.
  void start(const std::optional<wire::FactsRequest>& request);
  void send(const wire::ToAgent& message) { channel_.send(message); }
  /// Sends Bye; the session has ended when the agent answers or the connection ends. `stays`: the
  /// agent is asked to serve another session over this connection: take_connection().
  void release(bool stays = false);
  /// Ends the session and its connection at once, without a word to agent or listener.
  void abandon();
  /// Once the session has ended: its connection, with an agent that waits for another Hello.
  /// nullopt: the agent has exited, or the connection cannot go on.
  [[nodiscard]] std::optional<Connection> take_connection();
  /// The session goes on over a different connection than it began with.
  [[nodiscard]] bool was_reconnected() const { return connection_ > 1; }
  /// The agent has answered the Hello.
  [[nodiscard]] bool is_greeted() const { return greeted_; }
  [[nodiscard]] bool started() const { return started_; }
  [[nodiscard]] bool ended() const { return ended_; }
  /// The processes of the session's connections that have not been reaped.
  [[nodiscard]] std::vector<pid_t> processes() const;
  /// The node's clock, as far as it is known.
  [[nodiscard]] NodeClock& clock() { return clock_; }

 private:
  using StreamKey = std::pair<Rank, Stream>;

  void hear(wire::FromAgent message);
  /// Whether the message is forwarded to the listener.
  bool take(wire::Hello& hello);
  bool take(wire::Heartbeat& beat);
  bool take(wire::Bye& bye);
  bool take(wire::OutputData& output);
  bool take(wire::OutputEnd& end);
  bool take(wire::Notice& notice);
  bool take(wire::OneOf<wire::Answers> auto&) { return true; }
  bool take(wire::OneOf<wire::RunMessages> auto&) { return true; }
  bool take(wire::OneOf<wire::CollectAnswer> auto&) { return true; }
  bool take(wire::StagedSeen&) { return true; }
  bool take(wire::ProgramServed& answer) {
    if (listener_.on_served) listener_.on_served(answer);
    return false;
  }

  [[nodiscard]] LauncherChannel::Callbacks channel_callbacks();
  void greet(const std::optional<wire::FactsRequest>& request);
  void beat();
  void count_silence();
  void send_heartbeat();
  void channel_ended(const std::string& reason);
  void connection_lost(const std::string& cause);
  void connection_silent();
  void silence_broken();
  void retire_process(bool kill);
  void old_process_ended(std::uint32_t connection, const ConnectionEnd& end);
  void go_on_over(Connection connection);
  void resumed();
  enum class Fate : std::uint8_t { ended, unknown };  // of the ranks of a lost agent
  [[nodiscard]] Fate fate_after(int code) const;
  void agent_is_gone(std::string how, Fate ranks);
  void end_quietly();
  void lose(std::string what, Fate ranks = Fate::unknown);
  [[nodiscard]] Duration lease_left() const;
  void tell_silence();
  [[nodiscard]] bool agent_is_stuck();
  [[nodiscard]] std::string silence_text() const;

  EventLoop& loop_;
  NodeId node_;
  Settings settings_;
  Listener listener_;
  LauncherChannel channel_;
  Reconnection way_back_;
  const Duration beat_every_;
  Timer heartbeat_;
  NodeClock clock_;
  std::unique_ptr<ConnectionProcess> process_;
  std::vector<std::unique_ptr<ConnectionProcess>> old_processes_;  // of connections that were lost
  std::string early_;
  std::optional<LeftConnection> left_;
  bool started_ = false;
  bool greeted_ = false;
  bool released_ = false;
  bool ended_ = false;
  std::uint64_t frames_seen_ = 0;
  Duration silence_{0};
  NodeNotices notices_;
  WallTime heard_at_wall_;            // the last frame, to within a heartbeat
  bool told_silence_ = false;         // in this outage
  bool told_stuck_ = false;           // likewise
  Duration connection_silence_{0};    // like silence_, of the current connection only
  std::uint64_t agent_sent_ = 0;      // `sent` of the agent's latest heartbeat
  MonotonicTime agent_sent_came_{0};  // when it arrived
  // For the Resume of a later connection:
  std::uint32_t connection_ = 1;
  Attempt attempt_;
  std::map<StreamKey, std::uint64_t> received_;  // of attempt_, streams that have not ended
  std::string cause_;                            // why the last connection was lost
  bool cause_ends_agent_ = false;                // LastWords::agent_ended
  std::optional<MonotonicTime> lost_at_;         // when the current outage began; nullopt: none
};

}  // namespace dlaunch
