// Job names: a default for jobs without one, and a safe form for file names and options.
#pragma once

#include <string>
#include <string_view>

#include "model/job_spec.h"

namespace dlaunch::jobfile {

/// "train" for `python -u train.py --epochs 3`: the stem of the first argument that looks like a
/// script, else the last part of the module after -m, else the file name of the program.
[[nodiscard]] std::string name_from_command(const Command& command);

/// A job's name may be any text. For file names and for options of other programs it is reduced to
/// at most 64 of the characters A-Z a-z 0-9 . _ -: other characters become '-', the first one is a
/// letter, a digit or '_', and an empty result becomes "dlaunch".
[[nodiscard]] std::string name_as_word(std::string_view name);

}  // namespace dlaunch::jobfile
