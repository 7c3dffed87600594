// What PyTorch's @record decorator wrote when a rank failed: TORCHELASTIC_ERROR_FILE
// (torch/distributed/elastic/multiprocessing/errors, "message" with "extraInfo.py_callstack").
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/evidence.h"

namespace dlaunch {

/// Exception and place from the text of an error file; an empty Evidence if it is none, is damaged,
/// or is longer than 1 MiB. Its last_lines stay empty. Pure.
[[nodiscard]] Evidence read_error_file(std::string_view json);

inline constexpr std::size_t kEvidenceTail = std::size_t{64} << 10;

/// What a failed rank left behind: the last lines of its stderr (of its stdout, if it printed
/// nothing there), and the exception from its error file or, without one, from these lines. Reads
/// at most `tail` bytes of its output. `attempt_folder` is absolute.
[[nodiscard]] Evidence evidence_of(const std::string& attempt_folder, unsigned rank,
                                   std::size_t tail = kEvidenceTail);

}  // namespace dlaunch
