// The environment of a rank as execve(2) takes it.
#pragma once

#include <string>
#include <vector>

#include "model/environment.h"

namespace dlaunch {

/// What execvp(3) searches when there is no PATH (confstr(3), _CS_PATH).
inline constexpr const char* kDefaultSearchPath = "/bin:/usr/bin";

/// Built once for all ranks of a node: the inherited environment less what is scrubbed, plus what
/// of `defaults` it does not have, plus the shared variables.
class EnvironmentBase {
 public:
  EnvironmentBase(Environment inherited, const std::vector<std::string>& scrub,
                  const Environment& defaults, const Environment& shared);
  [[nodiscard]] const Environment& variables() const { return variables_; }

 private:
  Environment variables_;
};

/// Base plus a rank's own variables; later wins. Holds the strings that pointers() points to.
class EnvironmentBlock {
 public:
  EnvironmentBlock(const EnvironmentBase& base, const Environment& own);
  /// Null-terminated, valid as long as this object and unmoved.
  [[nodiscard]] const char* const* pointers() const { return pointers_.data(); }
  [[nodiscard]] const std::string& search_path() const { return search_path_; }

 private:
  std::vector<std::string> strings_;
  std::vector<const char*> pointers_;
  std::string search_path_;
};

}  // namespace dlaunch
