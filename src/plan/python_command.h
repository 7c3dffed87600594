// What a Python command line runs. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/python.h"

namespace dlaunch {

/// python, python3, python3.12, whatever folder it is in.
[[nodiscard]] bool is_python(std::string_view program);

/// By the options of python(1), of any version since 2.7. nullopt: it is no Python, runs neither a
/// script nor a module (-c, stdin, --version), or has an option that is not known here.
[[nodiscard]] std::optional<PythonCommand> python_command(const std::vector<std::string>& argv);

/// The script of `sh [options] FILE` and `bash [options] FILE`; nullopt: none, or not for certain.
[[nodiscard]] std::optional<std::string> shell_script(const std::vector<std::string>& argv);

}  // namespace dlaunch
