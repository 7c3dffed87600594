// Records which stagings of this user write to which targets on this node, and which runs use them.
// A claim is a file in ${XDG_CACHE_HOME:-~/.cache}/dlaunch/claims (0700) that its agent keeps
// locked (os/files.h): the kernel drops the lock however the agent dies, so only locked files count
// as claims. Without a home folder, or if its file system has no locks, nothing is claimed, and no
// staging waits for another.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/environment.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// For one thread; safe between processes. Targets are absolute paths; a target that lies in
/// another counts as the same target.
class StageClaims {
 public:
  /// `env`: the agent's own.
  explicit StageClaims(const Environment& env);
  ~StageClaims() { release(); }
  StageClaims(const StageClaims&) = delete;
  StageClaims& operator=(const StageClaims&) = delete;

  struct Other {
    std::string by;
    std::string target;
  };
  /// Claims the targets for writing, and gives up earlier claims, except those in use under the
  /// same name `by`. Another agent's claim under that name does not count: it is another node of
  /// the same staging on this machine. Returns who else has claimed one of the targets; in that
  /// case claims none of them. Takes at most a fraction of a second.
  [[nodiscard]] std::optional<Other> claim(const std::string& by,
                                           const std::vector<std::string>& targets);
  [[nodiscard]] bool has_claimed() const { return own_.valid(); }
  /// From now on the claimed targets are used, and no longer written to.
  void use();
  void release();
  /// Gives up what it claimed for writing, not what it uses.
  void give_up();
  /// The other users of the target, sorted, each once.
  [[nodiscard]] std::vector<std::string> users_of(const std::string& target) const;

 private:
  struct Claim {
    std::string by;
    std::vector<std::string> targets;
    bool is_use = false;
  };
  [[nodiscard]] std::vector<Claim> others(bool clears) const;

  std::string folder_;
  std::string prefix_;  // begins the names of this node's files: nodes may share the home folder
  std::string by_;
  std::string path_;  // of own_
  UniqueFd own_;
  bool is_use_ = false;
  std::vector<std::pair<std::string, UniqueFd>> used_;  // earlier uses: paths and locks
};

}  // namespace dlaunch
