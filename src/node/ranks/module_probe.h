// Starts a Python to ask it whether it has a module that was not found as a file.
#pragma once

#include <chrono>
#include <string>

#include "model/environment.h"
#include "model/python.h"

namespace dlaunch {

struct ModuleProbe {
  std::string python;     // absolute
  PythonCommand command;  // with a module
  std::string workdir;
  Environment env;  // of the ranks
};

/// The name that `python -m` certainly would not find: the module, or a package followed by
/// ".__main__". Imports no code of the user: neither the module nor the packages that contain it.
/// Empty after `limit`, or in case of doubt. Changes the current folder of the calling process.
[[nodiscard]] std::string missing_module(const ModuleProbe& probe, std::chrono::milliseconds limit);

}  // namespace dlaunch
