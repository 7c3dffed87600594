// A shell text as its simple commands (POSIX, XCU 2.9.1), without running any of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::spec {

/// The words of each simple command, quotes taken off and redirections left out. Groups, subshells
/// and substitutions are simple commands of their own; reserved words are words here. An open quote
/// ends with the text; nothing is an error.
[[nodiscard]] std::vector<std::vector<std::string>> simple_commands(std::string_view text);

}  // namespace dlaunch::spec
