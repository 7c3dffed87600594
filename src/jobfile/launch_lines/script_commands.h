// The commands of a shell script in order, and what surrounds each.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/launch_lines/script_text.h"

namespace dlaunch::jobfile {

/// A simple command, without reserved words.
struct ScriptCommand {
  enum class After { none, and_if, or_if, pipe };

  std::string_view text;      // as spelled, with redirections
  std::size_t begin = 0;      // in the text; bytes
  After after = After::none;  // "&&", "||", "|" before it
  bool is_before_pipe = false;
  bool reads_input = false;  // "<", "<<", "<<<" and "|" before it; not "< /dev/null"
  bool is_inside = false;    // in a function or in parentheses
  bool is_for_some = false;  // in an `if`, `case` or loop
  std::string_view loop;     // "for i in 1 2"; empty: not in a loop
};

/// Loop and `case` headers do not count as commands; conditions do.
struct ScriptCommands {
  std::vector<ScriptCommand> commands;
  std::vector<std::string> loop_variables;
  std::optional<ScriptMistake> mistake;  // with an offset in the text
};

/// `text`: as ScriptText::text; must outlive the result. Rules: XCU 2.9, 2.10; bash(1).
[[nodiscard]] ScriptCommands script_commands(std::string_view text);

}  // namespace dlaunch::jobfile
