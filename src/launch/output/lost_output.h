// One line about output that the log files lack.
#pragma once

#include <string>
#include <vector>

#include "wire/message.h"

namespace dlaunch {

/// "the log files lack 1.2 MB of the output of rank 3 (stdout), which could not be stored in
/// runs/X". `ends`: of streams that lost something, at least one. `folder`: as shown to the
/// user.
[[nodiscard]] std::string lost_output_text(const std::vector<wire::OutputEnd>& ends,
                                           const std::string& folder);

}  // namespace dlaunch
