// Describes a Python on this node's disk. Starts nothing: it looks for files, lists folders
// and reads pyvenv.cfg.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/python.h"

namespace dlaunch {

struct PythonPlace {
  std::string version;     // "3.11", "3.11.4"; empty: it cannot be seen
  bool is_script = false;  // not Python itself: a wrapper, which may do anything
  bool is_shim = false;    // of pyenv or asdf: a script that runs a Python it chooses, unchanged
  std::vector<std::string> standard;  // folders of the standard library
  std::vector<std::string> packages;  // folders of installed modules
};

/// The first bytes of a file; empty for what cannot be read.
[[nodiscard]] std::string beginning_of(const std::string& path, std::size_t most);

/// `path`: absolute, as it was found. `env`: of the ranks.
[[nodiscard]] PythonPlace python_at(const std::string& path, const Environment& env);

/// Folders in which the command's Python looks for modules, as far as `place` tells, the first ones
/// first.
[[nodiscard]] std::vector<std::string> module_folders(const PythonPlace& place,
                                                      const PythonCommand& command,
                                                      const std::string& workdir,
                                                      const Environment& env);

/// Whether `python -m NAME` finds a file there. False proves nothing: Python has other ways.
[[nodiscard]] bool has_module(std::string_view name, const std::vector<std::string>& folders);

/// An existing module with a similar name; empty: there is none.
[[nodiscard]] std::string near_module(const std::string& name,
                                      const std::vector<std::string>& folders);

}  // namespace dlaunch
