// Evidence: what a failed rank printed or recorded about its failure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

struct SourceLine {
  std::string file;  // as in Python's traceback
  std::string line;
  bool operator==(const SourceLine&) const = default;
};

/// All texts are harmless on a terminal (plain_text.h). The exception has at most 4000 columns. A
/// line has at most 200 columns, or 4000 if no exception was recognised.
struct Evidence {
  std::vector<std::string> last_lines;  // of stderr, at most 40, without blank ones at the end
  std::optional<std::string>
      exception;  // "RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB"
  std::optional<std::string> where;  // "train.py:118 in forward"
  std::optional<SourceLine> source;  // innermost line of the program itself
  std::size_t lines_after = 0;       // lines that the rank printed after the exception
  bool of_stdout = false;            // the lines are of stdout, because stderr is empty
  bool operator==(const Evidence&) const = default;
};

/// Reads the end of what a rank printed (traceback.h says what is recognised). Pure.
[[nodiscard]] Evidence find_evidence(std::string_view stderr_tail);

/// The last `max_bytes` of a regular file, without an incomplete first line; "" if the file does
/// not exist or cannot be read.
[[nodiscard]] std::string read_tail(const std::string& file, std::size_t max_bytes);

/// The exception and its location, read from the file that PyTorch's @record decorator writes when
/// a rank fails: TORCHELASTIC_ERROR_FILE (torch/distributed/elastic/multiprocessing/errors,
/// "message" with "extraInfo.py_callstack"). Empty if `json` is not such a file, is damaged, or is
/// longer than 1 MiB. last_lines stays empty. Pure.
[[nodiscard]] Evidence read_error_file(std::string_view json);

inline constexpr std::size_t kEvidenceTail = std::size_t{64} << 10;

/// The evidence of a failed rank: the last lines of its stderr (of its stdout, if stderr is empty),
/// and the exception from its error file or, if there is no error file, from these lines. Reads at
/// most the last `tail` bytes of a stream. `attempt_folder` is absolute.
[[nodiscard]] Evidence evidence_of(const std::string& attempt_folder, unsigned rank,
                                   std::size_t tail = kEvidenceTail);

}  // namespace dlaunch
