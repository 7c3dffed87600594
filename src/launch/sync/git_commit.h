// Finds the checked-out commit of a git work tree without git(1).
#pragma once

#include <string>

#include "report/job_record.h"

namespace dlaunch {

/// Of the work tree that `folder` (a real path) is in, from a few small files of its .git; `changes`
/// is left open. Empty where there is none, or where it is kept in another way (reftable).
[[nodiscard]] GitState read_git(const std::string& folder);

}  // namespace dlaunch
