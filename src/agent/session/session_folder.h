// Where an agent stores the output of its ranks when the launcher's run folder is elsewhere:
// BASE/dlaunch-UID/NAME, with a folder for each attempt below. BASE is the first of $TMPDIR,
// /var/tmp, ${XDG_CACHE_HOME:-$HOME/.cache} and /tmp that can be written and is no tmpfs (which
// would take the ranks' memory); when all are, the first that can be written.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "model/environment.h"
#include "model/ids.h"
#include "model/result.h"

namespace dlaunch {

/// Folders that may hold it, best first, by name only. Pure.
[[nodiscard]] std::vector<std::string> output_bases(const Environment& env);

/// Lives on the agent's one thread.
class SessionFolder {
 public:
  explicit SessionFolder(std::vector<std::string> bases) : bases_(std::move(bases)) {}

  /// Makes the folder, once; its name must not hold '/'. All folders that it makes have mode 0700,
  /// and dlaunch-UID is used only if it is a folder of this user's that nobody else may enter.
  /// Errors: exit_code::kCannotExecute, the reason of each base that was refused.
  [[nodiscard]] Status make(const std::string& name);

  /// Absolute; empty before make().
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Of an attempt, made when it is asked for first. Empty where there is no session folder.
  [[nodiscard]] std::string of_attempt(Attempt attempt);

  /// Removes what the attempt has left: the launcher has it all.
  void forget(Attempt attempt);
  /// At the orderly end: removes the session folder if no attempt's files are left in it.
  void remove_if_empty();

 private:
  std::vector<std::string> bases_;
  std::string path_;
  std::set<Attempt> made_;
};

}  // namespace dlaunch
