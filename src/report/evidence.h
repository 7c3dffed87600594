// Evidence: what a failed rank itself said about why.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

/// All texts are harmless on a terminal (plain_text.h) and at most 200 columns wide.
struct Evidence {
  std::vector<std::string> last_lines;  // of stderr, at most 40, without blank ones at the end
  std::optional<std::string>
      exception;  // "RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB"
  std::optional<std::string> where;  // "train.py:118 in forward"
  bool operator==(const Evidence&) const = default;
};

/// Reads the end of a rank's stderr (traceback.h says what is recognised). Pure.
[[nodiscard]] Evidence find_evidence(std::string_view stderr_tail);

/// The last `max_bytes` of a regular file, from the first whole line in them; "" if there is none
/// or it cannot be read.
[[nodiscard]] std::string read_tail(const std::string& file, std::size_t max_bytes);

}  // namespace dlaunch
