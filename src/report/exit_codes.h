// What the exit codes of `dlaunch run` mean, and what to do. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dlaunch {

struct ExitCodeRow {
  int first;
  int last;                  // equal to `first`, except for a range
  std::string_view name;     // "64", "1 to 125", "128 + n"
  std::string_view meaning;  // sentences
  std::string_view advice;   // what to do; empty: nothing
};

/// In the order of docs/reference/exit-codes.md. If several rows fit a code, the first row with the
/// smallest range is the most exact.
[[nodiscard]] std::span<const ExitCodeRow> exit_codes();

/// The output of `dlaunch help 74`; empty: no process ends with that code.
[[nodiscard]] std::string exit_code_help(int code);

}  // namespace dlaunch
