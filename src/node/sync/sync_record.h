// Records what syncs have written into a workdir of this node, so that a later one can remove what
// the launcher no longer has, and nothing else. One file for each launcher's machine, node and
// workdir, 0600, in ${XDG_CACHE_HOME:-~/.cache}/dlaunch/sync (0700). Without that folder nothing is
// ever removed.
#pragma once

#include <map>
#include <string>

#include "model/environment.h"
#include "model/sync.h"

namespace dlaunch {

using SyncEntries = std::map<std::string, SyncEntry>;  // by path

/// Lives on the agent's one thread.
class SyncRecord {
 public:
  /// `env`: the agent's own. `root` must exist.
  SyncRecord(const Environment& env, const std::string& root, const std::string& origin);

  /// Empty also if there is no record, or one that is not ours, damaged or of another version.
  [[nodiscard]] SyncEntries load() const;
  /// Writes it whole or not at all, without an error: a missing record only makes a sync remove
  /// less.
  void save(const SyncEntries& entries) const;

  /// Empty if there is no folder for it.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string root_;
  std::string origin_;
  std::string node_;  // this machine, and the identity of its root folder
  std::string folder_;
  std::string path_;
};

}  // namespace dlaunch
