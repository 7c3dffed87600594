// A connector brings an agent to a node: ssh, srun, kubectl, a command of the user's own, or a fork
// on this machine. Each is one row of the table in connectors.cc, and one file in connectors/.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "launch/connect/connect_failure.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// What the connector runs on the node.
enum class Purpose : std::uint8_t {
  fresh,   // a new guardian and agent: `dlaunch agent --node N --session HEX`
  attach,  // a new connection to the agent that runs there: `dlaunch agent --attach HEX --node N`
};

struct ConnectRequest {
  std::string remote_command;      // one word for any login shell, see remote_script.h
  std::chrono::seconds timeout{};  // for the connector's own limit; 0: its default
  bool may_ask = false;            // the user can answer a prompt of the program
  bool old_program = false;        // after ConnectFailure::Kind::too_old
  std::string host_option{};       // of this host, from Connector::prepare
  std::string master{};            // socket of the shared connection to use; empty: none
  // The agent of `remote_command` again, for a connector that needs no shell.
  std::uint64_t session = 0;
  NodeId node{};
  bool pid_namespace = false;
};

/// Host -> an option that the command for this host needs.
using HostOptions = std::map<std::string, std::string>;

/// How a connector finds nodes that the job does not name in `hosts`.
struct NodeListing {
  std::string_view key;  // the key of `connect` that says which nodes
  std::vector<std::string> (*argv)(const Connect&);
  /// Parses the command's output. Error: the problem, as a sentence.
  Result<std::vector<HostSpec>> (*read)(const Connect&, std::string_view output);
};

/// How the connector's program shares one login among several connections to a host.
struct MasterSupport {
  /// A command that prints the program's settings for the host.
  std::vector<std::string> (*settings_argv)(const Connect&, const HostSpec&);
  /// Whether these settings name a shared connection of the user's own, which dlaunch leaves alone.
  bool (*is_users_own)(std::string_view settings);
};

/// Pure: words in, words out. Only execve(2) sees them, so nothing is quoted: a job's texts are
/// whole words of argv, and a connector puts `--` before the first one that could be taken for an
/// option.
struct Connector {
  std::string_view name;  // the word of connect.via
  /// The process that the connector starts is only the connection: the agent outlives it, and a new
  /// connection attaches to the agent again. False: the process is the agent's guardian.
  bool can_attach = true;
  /// An exit code above 128 may come from the program itself, so it proves nothing about the agent.
  bool own_exit_codes = false;
  /// The program's name, for messages.
  std::string (*program)(const Connect&) = nullptr;
  /// The command line for one host, whose user and port are already resolved. Error (kJobFile): the
  /// job lacks something that the command needs.
  Result<std::vector<std::string>> (*argv)(const Connect&, const HostSpec&,
                                           const ConnectRequest&) = nullptr;
  /// What it means that the program ended before an agent answered.
  ConnectFailure (*failure)(const ConnectEnd&) = nullptr;
  /// What it means that an open connection ended.
  LastWords (*end)(const ConnectEnd&) = nullptr;
  /// A command line that the user may type to try the connection; null: there is none.
  std::string (*by_hand)(const Connect&, const HostSpec&) = nullptr;
  /// Called once, before the first argv(): removes from the program's environment (NAME=VALUE each)
  /// what would break its use. Null: the environment stays unchanged.
  HostOptions (*prepare)(std::vector<std::string>& environment) = nullptr;
  const NodeListing* listing = nullptr;
  const MasterSupport* master = nullptr;
};

[[nodiscard]] std::span<const Connector* const> connectors();

/// nullptr: unknown name ("auto" is not a connector).
[[nodiscard]] const Connector* find_connector(std::string_view name);

/// A connection to an agent: a pair of descriptors, and its local process.
struct Connection {
  UniqueFd read;
  UniqueFd write;     // none if `read` is a socket for both
  pid_t process = 0;  // child of the engine; its end is the end of the connection
  /// What was read after the agent's marker: the first bytes of the channel.
  std::string early = {};
  /// Connector::can_attach: ending the process ends nothing on the node except the channel.
  bool remote = false;
  /// For a remote one: why the connection ended, from the wait status of `process` and its stderr;
  /// the text is empty when it says no more than the agent's exit code. May be called once the
  /// process has ended.
  std::function<LastWords(int wait_status)> last_words = {};
};

/// A process whose end also ends the run, as the caller's own end does.
struct AttachedFront {
  pid_t pid = 0;  // 0: there is none
  std::chrono::milliseconds stop_grace{0};
};

/// Forks without exec into guardian_main. Must be called before any thread exists in this process.
[[nodiscard]] Result<Connection> connect_local(NodeId node, std::uint64_t session,
                                               bool pid_namespace, const AttachedFront& front);

}  // namespace dlaunch
