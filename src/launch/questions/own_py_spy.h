// The py-spy of the machine of the launcher, which is sent to nodes that have none.
#pragma once

#include <string>
#include <vector>

#include "model/result.h"

namespace dlaunch {

/// The content of the first py-spy, beside this program or in the PATH `search_path`, that may be
/// sent: a static executable for the same processor type as this program, owned by this user or
/// root, that no other user can write to. Reads files, which may hang. The error is a clause:
/// "/opt/bin/py-spy on this machine is not sent, because ...", "this machine has no py-spy to send
/// (pip install py-spy)".
[[nodiscard]] Result<std::string> read_own_py_spy(const std::string& search_path);

/// A command that writes that content to stdout, or the clause to stderr; its PATH takes the place
/// of `search_path`.
[[nodiscard]] std::vector<std::string> own_py_spy_command();

}  // namespace dlaunch
