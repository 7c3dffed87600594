// Opens channels to agents on other nodes: an ssh (or the user's own command) for each, at most
// `connect.parallel` of them on their way at once; brings the binary there where it is missing;
// tries again where a server refuses because too many come at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "launch/connect/connector.h"
#include "launch/connect/node_targets.h"
#include "model/job_spec.h"
#include "model/time.h"
#include "os/event_loop.h"

namespace dlaunch {

/// What the command on the node is to be.
enum class Purpose : std::uint8_t {
  fresh,   // a new guardian and agent: `dlaunch agent --node N --session HEX`
  attach,  // a way back to the agent that runs there: `dlaunch agent --attach HEX --node N`
};

/// Lives on the engine's one thread. Destroying it ends the connections that are being opened, and
/// calls nobody; those that were handed out belong to their owners.
class NodeConnector {
 public:
  struct Settings {
    Connect connect;
    std::uint64_t session = 0;  // of all nodes, at the beginning
    bool pid_namespace = false;
    Duration timeout{};      // timeouts.connect; answers come shortly before it is over
    std::string build_id;    // of the binary that is to run there
    std::uint64_t seed = 0;  // of the jitter between tries
  };
  /// An attach that reached the node and found no agent there is an Error with the code
  /// kSessionGone or kSessionHidden (agent/session/attach.h), whose text says how the agent ended,
  /// or that there is no trace of it. Else an Error's text is for a person who knows which host is
  /// meant: "ssh: connect to host gpu12 port 22: Connection refused".
  using Opened = std::function<void(Result<Connection>)>;

  /// `targets`: index = NodeIndex. Those that are reached by fork get an agent of this machine,
  /// executed from our own binary: forking is only for the beginning, when there are no threads.
  NodeConnector(EventLoop& loop, const std::vector<NodeTarget>& targets, Settings settings);
  ~NodeConnector();
  NodeConnector(const NodeConnector&) = delete;
  NodeConnector& operator=(const NodeConnector&) = delete;

  /// Answers exactly once, from the loop, within the limit; a call for a node whose channel is
  /// being opened replaces that one, which is then never answered. `timeout`: of this one; 0: that
  /// of the settings.
  void open(NodeIndex node, Purpose purpose, Opened done, Duration timeout = Duration(0));
  /// Ends an open() that has not answered; it never will.
  void cancel(NodeIndex node);
  /// Of the channels that are opened to this node from now on.
  void set_session(NodeIndex node, std::uint64_t session);
  /// A fresh agent on this node begins only when nothing of this session is left there; until then
  /// open() answers with an Error that says so. Not for this machine's own agents.
  void set_lost_session(NodeIndex node, std::uint64_t session);
  /// Processes that are at work here, not handed out yet.
  [[nodiscard]] std::vector<pid_t> processes() const;

  /// From now on an ssh that opens a fresh channel may ask the user: `environment` is what it needs
  /// for that, with the name of this ssh. Empty: no more (BatchMode), as at the beginning.
  using Prompts = std::function<std::vector<std::string>(const std::string& process)>;
  void set_prompts(Prompts environment);
  /// A question was asked or answered: everybody gets his whole time again.
  void user_asked();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dlaunch
