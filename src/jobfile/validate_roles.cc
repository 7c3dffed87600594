#include "jobfile/validate.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace dlaunch::jobfile {

namespace {

class RoleValidator : public Validator {
 public:
  using Validator::Validator;

  void check();

 private:
  [[nodiscard]] bool has_bad_keys_under(const std::string& prefix) const {
    for (auto next = given_.lower_bound(prefix);
         next != given_.end() && next->first.starts_with(prefix); ++next) {
      if (!next->second.good) return true;
    }
    return false;
  }
  void check_lone_roles();
  void check_framework();
};

void RoleValidator::check() {
  if (given_.find("roles") == given_.end() || has_bad_keys_under("roles.")) return;
  std::int64_t ranks = 0;
  for (const RoleSpec& role : job_.roles) ranks += role.count;
  if (ranks == 0 && (!job_.roles.empty() || !has_keys_under("roles.")))
    return contradict("roles", "roles",
                      "roles has no process; give at least one worker or a chief");
  const bool only_ps = std::none_of(job_.roles.begin(), job_.roles.end(), [](const RoleSpec& role) {
    return role.count > 0 && (role.name == "chief" || role.name == "worker");
  });
  if (only_ps && (job_.success == Success::chief || job_.success == Success::workers))
    return contradict("success", "roles",
                      "success needs a chief or a worker, and roles has neither");
  check_lone_roles();
  check_framework();
}

/// "There must be at most one 'chief' job", "at most one 'evaluator' job" (TensorFlow,
/// multi_worker_util.py). The field table already limits the short form of a role.
void RoleValidator::check_lone_roles() {
  for (const RoleSpec& role : job_.roles) {
    const bool is_lone = role.name == "chief" || role.name == "evaluator";
    const std::string path = "roles." + role.name + ".count";
    if (is_lone && role.count > 1)
      contradict(path, path,
                 "a job has at most one " + role.name + ", not " + std::to_string(role.count));
  }
}

void RoleValidator::check_framework() {
  if (!has_tasks(job_.framework))
    return contradict("roles", "framework", "roles work only with framework: tensorflow or gcp",
                      "the default framework is pytorch");
  const auto has_role = [this](std::string_view name) {
    for (const RoleSpec& role : job_.roles) {
      if (role.name == name && role.count > 0) return true;
    }
    return false;
  };
  // A misspelt role name was already reported.
  if (has_keys_under("roles.") && !has_role("chief") && !has_role("worker")) {
    if (!diagnostics_.empty()) return;
    contradict("roles", "roles",
               "roles has neither a chief nor a worker; give at least one of them");
  } else if (job_.framework == Framework::gcp && !has_role("chief")) {
    contradict("roles", "framework", "framework: gcp needs a chief, which has rank 0");
  }
}

}  // namespace

void validate_roles(const JobSpec& job, const GivenKeys& given, Diagnostics& diagnostics) {
  RoleValidator(job, given, diagnostics).check();
}

}  // namespace dlaunch::jobfile
