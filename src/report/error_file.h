// What PyTorch's @record decorator wrote when a rank failed: TORCHELASTIC_ERROR_FILE
// (torch/distributed/elastic/multiprocessing/errors, "message" with "extraInfo.py_callstack").
#pragma once

#include <string>
#include <string_view>

#include "report/evidence.h"

namespace dlaunch {

/// Exception and place from the text of an error file; an empty Evidence if it is none, is damaged,
/// or is longer than 1 MiB. Its last_lines stay empty. Pure.
[[nodiscard]] Evidence read_error_file(std::string_view json);

/// What a failed rank left behind: the last lines of its stderr, and the exception from its error
/// file or, without one, from its stderr. `attempt_folder` is absolute.
[[nodiscard]] Evidence evidence_of(const std::string& attempt_folder, unsigned rank);

}  // namespace dlaunch
