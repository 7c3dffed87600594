// A Python as named in a command and as found on a node.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

/// The part of a Python command line that decides what is run; either script or module is empty.
struct PythonCommand {
  std::vector<std::string> options;  // python(1), those before script or module
  std::string script;                // a file, or a folder or archive with __main__.py
  std::string module;                // from -m
  bool operator==(const PythonCommand&) const = default;
};

/// Where a node finds a program. The Python members are empty for other programs, and if they
/// cannot be found without starting Python.
struct FoundProgram {
  std::string path;                  // absolute; empty: it is not there
  std::string version;               // of Python: "3.11", or "3.11.4" in a virtual environment
  std::string broken;                // why the expected path is unusable; empty: usable, or missing
  std::vector<std::string> imports;  // installed modules that the script imports
  std::vector<std::string> absent;   // modules that it imports and that were not found
  bool operator==(const FoundProgram&) const = default;
};

/// "3.11" of "3.11.4".
[[nodiscard]] inline std::string python_release(std::string_view version) {
  const std::size_t dot = version.find('.');
  if (dot == std::string_view::npos) return std::string(version);
  return std::string(version.substr(0, version.find('.', dot + 1)));
}

}  // namespace dlaunch
