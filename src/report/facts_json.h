// The facts of a node as JSON, for both `dlaunch plan --json` and `dlaunch info --json`. Unknown
// numbers are null, and unknown texts are empty.
#pragma once

#include "model/cluster.h"
#include "text/json_text.h"

namespace dlaunch {

/// Each appends one object.
void write_facts(JsonText& json, const NodeFacts& facts);
void write_fabric(JsonText& json, const FabricFacts& facts);

}  // namespace dlaunch
