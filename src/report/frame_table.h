// What a stack waits for, from the names of known functions. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/stacks.h"

namespace dlaunch {

/// One known function. tests/unit/report/frame_table_test.cc has a stack for each row.
struct KnownFrame {
  std::string_view function;  // its whole name
  std::string_view file;      // what the path of its file contains; empty: anything
  std::string_view waits;     // "all_reduce of torch.distributed, for the other ranks"
};

[[nodiscard]] std::span<const KnownFrame> known_frames();

/// By the outermost known frame, so that a collective is named and not the wait inside it.
/// `frames`: innermost first. Empty: none is known.
[[nodiscard]] std::string_view waits_for(const std::vector<StackFrame>& frames);

/// The innermost frame of the user's own code: Python outside of installed packages and of the
/// standard library. Null: there is none.
[[nodiscard]] const StackFrame* user_frame(const std::vector<StackFrame>& frames);

}  // namespace dlaunch
