// Parts of the accelerate dialect that its files share. Rules: accelerate 1.15, utils/launch.py and
// commands/launch.py; keys also of releases back to 0.12.
#pragma once

#include <string>

#include "spec/dialects/dialect.h"
#include "spec/dialects/foreign_keys.h"

namespace dlaunch::spec::accelerate {

/// Sets `command` from the words after "--", which are what stands behind `accelerate launch`: a
/// script, or -m MODULE, or --no_python PROGRAM. `type`: distributed_type, "NO" for one process.
void read_command(Translation& translation, const std::string& type, Place at);

/// What decides which sections of a file are used.
struct Settings {
  std::string type;       // distributed_type, in capitals
  std::string precision;  // mixed_precision, in small letters

  /// Whether accelerate uses its simple launcher, which runs on CPUs.
  [[nodiscard]] bool is_simple() const { return type == "NO" || type == "MULTI_CPU"; }
};

/// Sets the variables of the sections that are used. Notes unused sections, and keys that
/// accelerate does not read.
void read_sections(Translation& translation, ForeignKeys& keys, const Settings& settings);

}  // namespace dlaunch::spec::accelerate
