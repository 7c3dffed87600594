// Checks for contradictions between keys that are valid individually.
#pragma once

#include <string>
#include <string_view>

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

/// What the validators have in common.
class Validator {
 public:
  Validator(const JobSpec& job, const GivenKeys& given, Diagnostics& diagnostics)
      : job_(job), given_(given), diagnostics_(diagnostics) {}

 protected:
  /// nullptr: the key was not written.
  [[nodiscard]] const GivenKey* find(std::string_view path) const {
    const auto found = given_.find(path);
    return found == given_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool has_keys_under(const std::string& prefix) const {
    const auto next = given_.lower_bound(prefix);
    return next != given_.end() && next->first.starts_with(prefix);
  }
  /// Reports at the later of the two keys and names the other one. Reports nothing if neither was
  /// written or if one of them already has an error. `otherwise`: the default of the key that was
  /// not written.
  void contradict(const std::string& first, const std::string& second, std::string message,
                  const std::string& otherwise = "");

  const JobSpec& job_;
  const GivenKeys& given_;
  Diagnostics& diagnostics_;
};

}  // namespace dlaunch::jobfile
