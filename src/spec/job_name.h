// The name of a job: a default for jobs without one, and a form for file names and options.
#pragma once

#include <string>
#include <string_view>

#include "model/job_spec.h"

namespace dlaunch::spec {

/// "train" for `python -u train.py --epochs 3`: the stem of the first argument that looks like a
/// script, the last part of the module after -m, else the file name of the program.
[[nodiscard]] std::string name_from_command(const Command& command);

/// A job's name may be any text. This is what every file name and every word of another program is
/// made of it: at most 64 of the characters A-Z a-z 0-9 . _ -, any other one a '-', the first one a
/// letter, a digit or '_'; "dlaunch" where nothing is left.
[[nodiscard]] std::string name_as_word(std::string_view name);

}  // namespace dlaunch::spec
