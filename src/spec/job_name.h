// A name for a job that has none.
#pragma once

#include <string>

#include "model/job_spec.h"

namespace dlaunch::spec {

/// "train" for `python -u train.py --epochs 3`: the stem of the first argument that looks like a
/// script, the last part of the module after -m, else the file name of the program.
[[nodiscard]] std::string name_from_command(const Command& command);

}  // namespace dlaunch::spec
