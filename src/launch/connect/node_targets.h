// Which nodes a job has and how each is reached. Pure except this_machine().
#pragma once

#include <string>
#include <vector>

#include "launch/connect/connector.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// This machine: the names that a host list may use for it.
struct OwnMachine {
  std::string hostname;                // uname(2)
  std::vector<std::string> addresses;  // numeric, as inet_ntop(3) writes them
  std::string user;                    // USER or LOGNAME of the environment; may be empty
};

struct NodeTarget {
  HostSpec host;  // with user and port of the job if the host has none
  const Connector* connector = find_connector(Connect::Via::local);
  /// Reached by a fork: a node of this machine.
  [[nodiscard]] bool is_local() const { return !connector->can_attach; }
  bool operator==(const NodeTarget&) const = default;
};

/// The nodes in the order of the host list, at most as many as the job can use; this machine alone
/// when there is no list. The hosts must be resolved: single names, no hostfile.
///
/// This machine is its hostname (with or without the domain, if only one of the two has one),
/// localhost, or one of its addresses. With a port other than 22, or a user other than the one who
/// runs dlaunch, the same name means another sshd, usually a container's.
///
/// Errors (kJobFile): this machine twice, a name that ssh or a shell could misinterpret.
[[nodiscard]] Result<std::vector<NodeTarget>> node_targets(const JobSpec& spec,
                                                           const OwnMachine& own);

/// What must be equal for two runs to share a connection: how the host is reached, and as which
/// user.
[[nodiscard]] std::string target_key(const Connect& connect, const NodeTarget& target);

/// Reading the addresses costs some system calls.
[[nodiscard]] OwnMachine this_machine(bool with_addresses = true);

/// The node before its facts are known. `only_one`: the job has no other.
[[nodiscard]] Node node_of(const NodeTarget& target, bool only_one);

}  // namespace dlaunch
