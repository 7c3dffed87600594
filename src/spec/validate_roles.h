// The part of validate.h that is about roles.
#pragma once

#include "model/job_spec.h"
#include "spec/diagnostics.h"
#include "spec/field_reader.h"

namespace dlaunch::spec {

/// Reports roles without a process or without anybody who trains, several chiefs or evaluators, and
/// roles beside a framework, `success` or `launch` that does not go with them.
void validate_roles(const JobSpec& job, const GivenKeys& given, Diagnostics& diagnostics);

}  // namespace dlaunch::spec
