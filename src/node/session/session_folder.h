// The folder in which an agent stores the output of its ranks when the launcher's run folder is on
// another machine: BASE/dlaunch-UID/NAME, with a folder for each attempt in it. BASE is the first
// of $TMPDIR, /var/tmp, ${XDG_CACHE_HOME:-$HOME/.cache} and /tmp that is writable and not a tmpfs,
// which would take memory from the ranks; if all writable ones are tmpfs, the first of these.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "model/environment.h"
#include "model/ids.h"
#include "model/result.h"

namespace dlaunch {

/// Candidates for BASE, best first. Pure.
[[nodiscard]] std::vector<std::string> output_bases(const Environment& env);

/// Lives on the agent's one thread.
class SessionFolder {
 public:
  explicit SessionFolder(std::vector<std::string> bases) : bases_(std::move(bases)) {}

  /// Makes the folder, once; its name must not contain '/'. All folders that it makes have mode
  /// 0700, and dlaunch-UID is used only if it belongs to this user and no other may enter it.
  /// Errors: exit_code::kCannotExecute, with what is wrong with each base.
  [[nodiscard]] Status make(const std::string& name);

  /// Absolute; empty before make().
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The folder of an attempt; the first call makes it. Empty if there is no session folder.
  [[nodiscard]] std::string of_attempt(Attempt attempt);

  /// Removes the attempt's files, after the launcher has fetched them all.
  void forget(Attempt attempt);
  /// Call at the orderly end: removes the session folder unless files of an attempt are left in it.
  void remove_if_empty();

 private:
  std::vector<std::string> bases_;
  std::string path_;
  std::set<Attempt> made_;
};

}  // namespace dlaunch
