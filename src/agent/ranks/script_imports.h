// Which modules a Python script imports, and which of them its Python does not have, as far as the
// disk tells. Nothing is started.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/python.h"

namespace dlaunch {

struct PythonPlace;

/// First components of the modules that a program imports unconditionally: by statements that are
/// not indented. Pure.
[[nodiscard]] std::vector<std::string> imports_in(std::string_view program);

/// Sets `found.imports`, installed ones only, and `found.absent`. The latter stays empty where
/// modules may come from elsewhere: an import hook of a .pth file, a folder that cannot be listed.
void compare_imports(const PythonPlace& place, const PythonCommand& command,
                     const std::string& workdir, const Environment& env, FoundProgram& found);

}  // namespace dlaunch
