// Finds the checked-out commit of a git work tree without git(1).
#pragma once

#include <string>

#include "report/job_record.h"

namespace dlaunch {

/// The state of the work tree that `folder` (a real path) is in, from a few small files of its
/// .git. Does not set `changes`. Empty without a work tree, or with another format (reftable).
[[nodiscard]] GitState read_git(const std::string& folder);

}  // namespace dlaunch
