// The JSON Schema of the job file, for editors and for validation without dlaunch.
#pragma once

#include <string>

#include "jobfile/field_table.h"
#include "jobfile/json_pieces.h"

namespace dlaunch::jobfile {

/// The values that ValueReader accepts for `field`, without its mapping form and without the items
/// of a record_list. The patterns mean the same in ECMA-262 and Python.
[[nodiscard]] JsonObject value_schema(const Field& field);

/// The default as JSON; empty: the field has none, or the default is unavailable.
[[nodiscard]] std::string default_json(const Field& field);

/// JSON Schema draft 2020-12, generated from the field table. It leaves out keys and keywords that
/// this version does not support, so it accepts what read_job() accepts. Not expressible: sums and
/// comparisons of several values (job_rules.h), the longest duration, and that 3.0 is not an
/// integer. Ends with a line feed.
[[nodiscard]] std::string json_schema();

}  // namespace dlaunch::jobfile
