// The JSON Schema of one value of the field table.
#pragma once

#include <string>

#include "spec/field.h"
#include "spec/json_pieces.h"

namespace dlaunch::spec {

/// What ValueReader accepts for `field`, without its mapping form and without the items of a
/// record_list. Patterns are those that ECMA-262 and Python read alike.
[[nodiscard]] JsonObject value_schema(const Field& field);

/// The default as JSON; empty: the field has none, or it cannot be used.
[[nodiscard]] std::string default_json(const Field& field);

}  // namespace dlaunch::spec
