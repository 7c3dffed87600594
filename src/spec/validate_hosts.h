// The part of validate.h that is about hosts and connect.
#pragma once

#include "model/job_spec.h"
#include "spec/diagnostics.h"
#include "spec/field_reader.h"

namespace dlaunch::spec {

/// Reports hosts that are named twice or contradict themselves, more nodes than hosts or
/// processes than slots, and keys of `connect` that its `via` has no use for.
void validate_hosts(const JobSpec& job, const GivenKeys& given, Diagnostics& diagnostics);

}  // namespace dlaunch::spec
