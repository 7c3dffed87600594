// Records what syncs and stagings have written into a folder of this node, so that a later one can
// remove what the launcher no longer has, and nothing else. One file per launcher's machine, node
// and folder, 0600, in ${XDG_CACHE_HOME:-~/.cache}/dlaunch/sync (0700). Without that folder
// nothing is ever removed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "model/environment.h"
#include "model/stage.h"
#include "model/sync.h"

namespace dlaunch {

using SyncEntries = std::map<std::string, SyncEntry>;  // by path

/// Lives on the agent's one thread.
class SyncRecord {
 public:
  /// `env`: the agent's own. `root` must exist.
  SyncRecord(const Environment& env, const std::string& root, const std::string& origin);

  /// Also empty if there is no record, or if it is not ours, is damaged or has another version.
  /// `about`: what a staging's record says about the target; records of old versions say nothing.
  [[nodiscard]] SyncEntries load(std::optional<StagedTarget>* about = nullptr) const;
  /// Writes the record completely or not at all. Reports no error: without a record, a sync merely
  /// removes less.
  void save(const SyncEntries& entries, const std::optional<StagedTarget>& about = {}) const;
  void remove() const;

  /// Empty if there is no folder for it.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string root_;
  std::string origin_;
  std::string node_;  // this machine's name, and the identity of the folder root_
  std::string folder_;
  std::string path_;
};

/// A record that was found: its folder and origin.
struct FoundRecord {
  std::string root;
  std::string origin;
};
/// Calls `each` for all records of this node, including those of syncs. Their content is untrusted
/// input, because other machines may write to the home folder.
void for_each_record(const Environment& env, const std::function<void(const FoundRecord&)>& each);

/// ${XDG_CACHE_HOME:-~/.cache}/dlaunch; empty if neither variable has an absolute path.
[[nodiscard]] std::string cache_folder_of(const Environment& env);

}  // namespace dlaunch
