// The py-spy of the machine of the launcher, which is sent to nodes that have none.
#pragma once

#include <string>
#include <vector>

#include "model/result.h"

namespace dlaunch {

/// The content of the first one beside this program or in the PATH `search_path` that may be sent:
/// a static program for the processors of this one, executable, of this user or root, and that no
/// other user can write. Reads files, which may hang. The error is a clause: "/opt/bin/py-spy here
/// is not sent, because ...", "there is none here to send ...".
[[nodiscard]] Result<std::string> read_own_py_spy(const std::string& search_path);

/// A command that writes that to stdout, or the clause to stderr; its PATH is `search_path`.
[[nodiscard]] std::vector<std::string> own_py_spy_command();

}  // namespace dlaunch
