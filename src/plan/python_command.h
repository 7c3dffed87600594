// Interprets Python command lines. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/python.h"

namespace dlaunch {

/// python, python3, python3.12, in any folder.
[[nodiscard]] bool is_python(std::string_view program);

/// Parses the options of python(1) of all versions since 2.7. nullopt: not Python, neither a script
/// nor a module (-c, stdin, --version), or an unknown option.
[[nodiscard]] std::optional<PythonCommand> python_command(const std::vector<std::string>& argv);

/// The script of `sh [options] FILE` and `bash [options] FILE`; nullopt: none, or uncertain.
[[nodiscard]] std::optional<std::string> shell_script(const std::vector<std::string>& argv);

}  // namespace dlaunch
