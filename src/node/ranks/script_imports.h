// Which modules a Python script imports, and which of them its Python does not have, as far as
// files show. Starts nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/python.h"

namespace dlaunch {

struct PythonInstallation;

/// First components of the modules that a program imports by statements that are not indented,
/// hence unconditionally. Pure.
[[nodiscard]] std::vector<std::string> imports_in(std::string_view program);

/// Sets `found.imports`, to installed modules only, and `found.absent`. `found.absent` stays empty
/// if modules may come from elsewhere: an import hook of a .pth file, a folder that cannot be
/// listed.
void compare_imports(const PythonInstallation& python, const PythonCommand& command,
                     const std::string& workdir, const Environment& env, FoundProgram& found);

}  // namespace dlaunch
