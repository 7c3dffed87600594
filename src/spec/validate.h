// Contradictions between keys, each of which is fine alone.
#pragma once

#include "model/job_spec.h"
#include "spec/diagnostics.h"
#include "spec/field_reader.h"

namespace dlaunch::spec {

/// Reports what cannot be together, at the later of the two keys and naming the other one. Keys
/// with errors of their own hold defaults in `job`. `given` tells which keys were written, and
/// where. The command line's "-- COMMAND" must already be in `job`.
void validate(const JobSpec& job, const GivenKeys& given, Diagnostics& diagnostics);

}  // namespace dlaunch::spec
