// What the command line says about a job file of another system.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/result.h"

namespace dlaunch {

/// "--input NAME=VALUE" or "--output NAME=DIR".
struct NamedValue {
  std::string name;
  std::string value;
  std::string origin;  // as typed, for errors
};

struct ForeignInput {
  std::vector<NamedValue> inputs;
  std::vector<NamedValue> outputs;
  std::string step;            // of a file of several steps; empty: not given
  NamedValue module;           // --module: a Python module to run; `origin` is empty: not given
  NamedValue package;          // --package-path: the folder that holds its package; likewise
  bool no_container = false;   // the file's images are left out, and nothing is said of it
  std::string folder;          // of the job file, absolute: what its relative paths begin at
  std::string current_folder;  // absolute: what those of the command line begin at
  /// Files that the job file names; empty: they cannot be read.
  std::function<Result<std::string>(const std::string& path)> read_file;
};

}  // namespace dlaunch
