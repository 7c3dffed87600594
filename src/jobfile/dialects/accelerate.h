// Declarations shared by the files of the accelerate dialect. Rules: accelerate 1.15,
// utils/launch.py and commands/launch.py; also accepts the keys of releases back to 0.12.
#pragma once

#include <string>

#include "jobfile/dialects/dialect.h"
#include "jobfile/dialects/foreign_keys.h"

namespace dlaunch::jobfile::accelerate {

/// Settings that select the sections of a file.
struct Settings {
  std::string type;       // distributed_type, in upper case
  std::string precision;  // mixed_precision, in lower case

  /// Whether accelerate would use its simple launcher.
  [[nodiscard]] bool is_simple() const { return type == "NO" || type == "MULTI_CPU"; }
};

/// Sets the variables of the sections in use. Adds notes on unused sections and on keys that
/// accelerate does not read.
void read_sections(Translation& translation, ForeignKeys& keys, const Settings& settings);

}  // namespace dlaunch::jobfile::accelerate
