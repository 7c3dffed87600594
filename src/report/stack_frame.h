// One frame of a Python traceback. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

struct StackFrame {
  std::string file;
  std::string line;
  std::string function;  // empty: none was named, as for a SyntaxError
  bool operator==(const StackFrame&) const = default;
};

/// Reads `  File "train.py", line 118, in forward`, and faulthandler's form without the second
/// comma.
[[nodiscard]] std::optional<StackFrame> read_stack_frame(std::string_view line);

/// The last frame outside of libraries, else the last one; nullopt without frames.
[[nodiscard]] std::optional<StackFrame> innermost_of_program(const std::vector<StackFrame>& frames);

/// "train.py:118 in forward" of the last frame. A file in a library keeps its package's path, and
/// the last frame outside of libraries is named as its caller; other files are shown by their last
/// component.
[[nodiscard]] std::optional<std::string> describe_innermost(const std::vector<StackFrame>& frames);

}  // namespace dlaunch
