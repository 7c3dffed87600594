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

/// Sets the variables of deepspeed_config, fsdp_config, megatron_lm_config and parallelism_config,
/// as far as `type` makes use of them; keys that they do not have are errors in any case.
void read_sections(Translation& translation, ForeignKeys& keys, const std::string& type);

}  // namespace dlaunch::spec::accelerate
