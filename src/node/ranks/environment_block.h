// The environment of a rank for execve(2).
#pragma once

#include <string>
#include <vector>

#include "model/environment.h"

namespace dlaunch {

/// What execvp(3) searches if PATH is not set (confstr(3), _CS_PATH).
inline constexpr const char* kDefaultSearchPath = "/bin:/usr/bin";

/// Built once for all ranks of a node: the inherited environment without the scrubbed variables,
/// plus those of `defaults` that it lacks, plus the shared variables.
class EnvironmentBase {
 public:
  EnvironmentBase(Environment inherited, const std::vector<std::string>& scrub,
                  const Environment& defaults, const Environment& shared);
  [[nodiscard]] const Environment& variables() const { return variables_; }

 private:
  Environment variables_;
};

/// The base plus a rank's own variables, which win. Owns the strings that pointers() points to.
class EnvironmentBlock {
 public:
  EnvironmentBlock(const EnvironmentBase& base, const Environment& own);
  /// Null-terminated; valid while this object exists and is not moved.
  [[nodiscard]] const char* const* pointers() const { return pointers_.data(); }
  [[nodiscard]] const std::string& search_path() const { return search_path_; }

 private:
  std::vector<std::string> strings_;
  std::vector<const char*> pointers_;
  std::string search_path_;
};

}  // namespace dlaunch
