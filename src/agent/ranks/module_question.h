// Asks a Python whether it has a module. It is started for that, so it is asked only where the
// module was not seen on the disk.
#pragma once

#include <chrono>
#include <string>

#include "model/environment.h"
#include "model/python.h"

namespace dlaunch {

struct ModuleQuestion {
  std::string python;     // absolute
  PythonCommand command;  // with a module
  std::string workdir;
  Environment env;  // of the ranks
};

/// The name that `python -m` would not find, for certain: that of the module, or of a package with
/// ".__main__" behind it. Imports nothing of the user's: not the module, and not the packages that
/// it is in. Empty when it takes longer than `limit`, and whenever there is any doubt. Changes the
/// calling process's current folder.
[[nodiscard]] std::string missing_module(const ModuleQuestion& question,
                                         std::chrono::milliseconds limit);

}  // namespace dlaunch
