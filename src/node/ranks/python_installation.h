// Describes a Python installation from files: lists folders, reads pyvenv.cfg, and starts nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/python.h"

namespace dlaunch {

struct PythonInstallation {
  std::string version;     // "3.11", "3.11.4"; empty: unknown
  bool is_script = false;  // not Python but a wrapper, which may do anything
  bool is_shim = false;    // of pyenv or asdf: a script that selects a Python and runs it unchanged
  std::vector<std::string> standard;  // folders of the standard library
  std::vector<std::string> packages;  // folders of installed modules
};

/// The first bytes of a file; empty if it cannot be read.
[[nodiscard]] std::string beginning_of(const std::string& path, std::size_t most);

/// Describes the Python at `path`, which is absolute, as found in PATH. `env`: of the ranks.
[[nodiscard]] PythonInstallation python_at(const std::string& path, const Environment& env);

/// Folders in which the command's Python looks for modules, in that order, as far as known.
[[nodiscard]] std::vector<std::string> module_folders(const PythonInstallation& python,
                                                      const PythonCommand& command,
                                                      const std::string& workdir,
                                                      const Environment& env);

/// Whether `python -m NAME` finds a file in these folders. False proves nothing, because Python has
/// other ways to find modules.
[[nodiscard]] bool has_module(std::string_view name, const std::vector<std::string>& folders);

/// An existing module with a similar name; empty if there is none.
[[nodiscard]] std::string near_module(const std::string& name,
                                      const std::vector<std::string>& folders);

}  // namespace dlaunch
