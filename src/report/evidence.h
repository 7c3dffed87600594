// Evidence: what a failed rank itself said about why.
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

/// All texts are harmless on a terminal (plain_text.h). The exception has at most 4000 columns, and
/// so has every line where no exception was recognised; other lines have at most 200.
struct Evidence {
  std::vector<std::string> last_lines;  // of stderr, at most 40, without blank ones at the end
  std::optional<std::string>
      exception;  // "RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB"
  std::optional<std::string> where;  // "train.py:118 in forward"
  std::optional<SourceLine> source;  // innermost line of the program itself
  std::size_t lines_after = 0;       // that the rank printed after the exception
  bool of_stdout = false;            // the rank printed nothing on stderr
  bool operator==(const Evidence&) const = default;
};

/// Reads the end of what a rank printed (traceback.h says what is recognised). Pure.
[[nodiscard]] Evidence find_evidence(std::string_view stderr_tail);

/// The last `max_bytes` of a regular file, from the first whole line in them; "" if there is none
/// or it cannot be read.
[[nodiscard]] std::string read_tail(const std::string& file, std::size_t max_bytes);

}  // namespace dlaunch
