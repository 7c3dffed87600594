// Opens channels to agents on other nodes, each over a process of the node's connector, at most
// `connect.parallel` at once; copies the binary to nodes that lack it; retries when a server
// refuses too many connections at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "launch/connect/connect_queue.h"
#include "launch/connect/connector.h"
#include "launch/connect/node_targets.h"
#include "launch/connect/own_binary.h"
#include "launch/connect/program_forwarding.h"
#include "model/job_spec.h"
#include "model/time.h"
#include "os/event_loop.h"

namespace dlaunch {

struct RemoteAgent;

/// Lives on the engine's one thread. Its destructor ends the connections that are being opened,
/// without an answer; those that were handed over belong to their owners.
class NodeConnector {
 public:
  using Serve = ProgramForwarding::Serve;
  struct Settings {
    Connect connect;
    std::uint64_t session = 0;  // of all nodes without set_session()
    bool pid_namespace = false;
    Duration timeout{};      // timeouts.connect; answers arrive shortly before it expires
    std::string build_id;    // of the binary that must run on the nodes
    std::uint64_t seed = 0;  // of the jitter between tries
    /// Sends the message to the agent of a node that has_program() has named. Empty: nodes get the
    /// binary only from the launcher.
    Serve serve{};
    /// A node has waited for the binary of another node, and the time limit of its open() was
    /// postponed by that wait.
    std::function<void()> has_waited = {};
  };
  /// If an attach reached the node and found no agent, the Error has the code kSessionGone or
  /// kSessionHidden (node/session/attach.h), and its text says how the agent ended, or that there
  /// is no trace of it. Any other Error's text does not name the host: "ssh: connect to host gpu12
  /// port 22: Connection refused".
  using Opened = std::function<void(Result<Connection>)>;

  /// `targets`: index = NodeId. The connector `local` executes dlaunch's own binary on this
  /// machine: a fork is possible only at the beginning, when there are no threads.
  NodeConnector(EventLoop& loop, const std::vector<NodeTarget>& targets, Settings settings);
  ~NodeConnector();
  NodeConnector(const NodeConnector&) = delete;
  NodeConnector& operator=(const NodeConnector&) = delete;

  /// Answers exactly once, from the loop, within `timeout` (0: that of the settings); waits for
  /// another node's binary do not count. A second call for a node replaces the first, which is then
  /// never answered.
  void open(NodeId node, Purpose purpose, Opened done, Duration timeout = Duration(0));
  /// Cancels an open() that has not answered; it never will.
  void cancel(NodeId node);
  /// Sets the session of channels that are opened to this node from now on.
  void set_session(NodeId node, std::uint64_t session) { sessions_[node] = session; }
  /// A fresh agent on this node starts only when nothing of this lost session is left there; until
  /// then open() answers with an Error that says so. Do not call for nodes of this machine.
  void set_lost_session(NodeId node, std::uint64_t session) { lost_sessions_[node] = session; }
  /// A session with an agent on this node has begun, so the node can give the binary to others.
  void has_program(NodeId node);
  /// The session with the node's agent has ended, or the agent is no longer ours.
  void has_no_agent(NodeId node);
  /// While ranks run, nodes get the binary only from the launcher.
  void set_ranks_run(bool run);
  /// What this node's agent has answered to Settings::serve.
  void served(NodeId node, const wire::ProgramServed& answer);
  /// The processes of connections that have not been handed over.
  [[nodiscard]] std::vector<pid_t> processes() const;

  /// From now on a process that opens a fresh channel may ask the user: `environment` returns the
  /// variables for that, given a name for the process. An empty function: no process may ask. That
  /// is also the initial state.
  using Prompts = std::function<std::vector<std::string>(const std::string& process)>;
  void set_prompts(Prompts environment) { prompts_ = std::move(environment); }
  /// A question was asked or answered: the time limits of all connections restart.
  void user_asked();

 private:
  struct Opening;
  struct Answer;

  void advance_soon();
  void advance();
  void begin(Opening& opening);
  void look_for_master(Opening& opening);
  void ask_for_settings(Opening& opening);
  void start(Opening& opening);
  void watch_output(Opening& opening);
  void read_output(Opening& opening);
  void found(Opening& opening);
  void hand_over(Opening& opening);
  void needs_binary(Opening& opening);
  [[nodiscard]] bool may_wait(const Opening& opening);
  void send_binary(Opening& opening);
  void feed(NodeId node, const std::string& order);
  void send(Opening& opening, std::string line, std::string_view bytes);
  void count_wait(Opening& opening);
  void has_not_fetched(Opening& opening);
  void not_staged(Opening& opening);
  void process_ended(Opening& opening, int status);
  void next_step(Opening& opening);
  void go_without_master(Opening& opening);
  void answer(NodeId node, Result<Connection> result);
  void give(NodeId node, const Answer* which);
  void expire(NodeId node);
  void drop(Opening& opening);
  [[nodiscard]] std::uint64_t session_of(NodeId node) const;
  [[nodiscard]] const NodeTarget& target_of(const Opening& opening) const;
  [[nodiscard]] Result<std::vector<std::string>> argv_for(Opening& opening,
                                                          std::vector<std::string>& variables);
  [[nodiscard]] ConnectEnd end_of(Opening& opening, int status) const;
  [[nodiscard]] RemoteAgent agent_of(const Opening& opening);

  EventLoop& loop_;
  const std::vector<NodeTarget>& targets_;
  Settings settings_;
  std::vector<std::string> environment_;
  HostOptions host_options_;
  Prompts prompts_;
  std::uint64_t process_count_ = 0;
  ConnectQueue queue_;
  Timer timer_;
  OwnBinary binary_;
  ProgramForwarding forwarding_;
  std::map<std::uint32_t, std::unique_ptr<Opening>> openings_;
  std::map<std::uint32_t, std::unique_ptr<Answer>> answers_;  // given in a later turn
  std::map<NodeId, std::uint64_t> sessions_;                  // where different from the settings
  std::map<NodeId, std::uint64_t> lost_sessions_;             // the last lost one
  // With connect.persist: the control socket of each node's ssh master; empty: the node uses none.
  std::map<NodeId, std::string> masters_;
  bool advance_posted_ = false;
  bool old_program_ = false;  // set when the first process refuses an option
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dlaunch
