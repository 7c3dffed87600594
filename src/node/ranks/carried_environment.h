// The environment that ranks inherit on a node other than the launcher's (docs/reference/nodes.md,
// "Environment"): the node's login environment, plus those parts of the launcher's environment
// whose folders exist on this node too. Pure except for asking which folders exist.
#pragma once

#include <functional>
#include <string>

#include "model/environment.h"

namespace dlaunch {

/// `path` is absolute.
using FolderExists = std::function<bool(const std::string& path)>;

/// `login`: the agent's own environment. `carried`: what the launcher offers
/// (plan/inherited_env.h).
///  - PATH and LD_LIBRARY_PATH: the launcher's entries whose folder exists on this node, then the
///    node's own, each entry once. A relative entry (also an empty one: the current folder, POSIX
///    XBD 8.3) is resolved from `workdir` and kept as written.
///  - VIRTUAL_ENV and VIRTUAL_ENV_*: the launcher's if the folder exists on this node, else the
///    node's own.
///  - CONDA_*: the launcher's instead of the node's if the folder of CONDA_PREFIX exists on this
///    node.
/// Anything else in `carried` is ignored.
[[nodiscard]] Environment carried_environment(Environment login, const Environment& carried,
                                              const std::string& workdir,
                                              const FolderExists& exists);

/// The FolderExists for real file systems: stat(2), with the permissions of this process.
[[nodiscard]] bool folder_exists(const std::string& path);

}  // namespace dlaunch
