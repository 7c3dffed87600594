// The JSON Schema of the job file, for editors and for checks without dlaunch.
#pragma once

#include <string>

namespace dlaunch::spec {

/// JSON Schema draft 2020-12, made from the field table; keys and words that this version does not
/// know yet are not in it, so that it accepts what read_job() accepts. What it cannot say: sums and
/// comparisons of several values (job_rules.h), the longest duration, and 3.0 where an integer is
/// wanted, which JSON Schema takes for one. Ends with a line feed.
[[nodiscard]] std::string json_schema();

}  // namespace dlaunch::spec
