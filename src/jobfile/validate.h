// Checks for contradictions between keys that are valid individually.
#pragma once

#include <string>

#include "jobfile/diagnostics.h"
#include "jobfile/field_reader.h"
#include "model/job_spec.h"

namespace dlaunch::jobfile {

/// Reports contradictions at the later of the two keys and names the other one. Keys with errors of
/// their own hold defaults in `job`. `given` says which keys were written, and where. The command
/// line's "-- COMMAND" must already be in `job`.
void validate(const JobSpec& job, const GivenKeys& given, Diagnostics& diagnostics);

/// Reports repeated or contradictory hosts, more nodes than hosts, more processes than slots, and
/// keys of `connect` that its `via` does not use.
void validate_hosts(const JobSpec& job, const GivenKeys& given, Diagnostics& diagnostics);

/// Reports roles without a process or without a chief or worker, several chiefs or evaluators, and
/// roles with a framework or `success` that does not support them.
void validate_roles(const JobSpec& job, const GivenKeys& given, Diagnostics& diagnostics);

struct KeyPair {
  std::string first;
  std::string second;
  std::string otherwise{};  // the default of the key that was not written
};

/// Reports at the later of the two keys and names the other one. Reports nothing if neither was
/// written or if one of them already has an error.
void report_contradiction(const GivenKeys& given, Diagnostics& diagnostics, const KeyPair& keys,
                          std::string message);

}  // namespace dlaunch::jobfile
