// What syncs have put into a workdir of this node, so that a later one can take away what is gone
// at the launcher, and nothing else. One file for each launcher's machine, node and workdir, 0600,
// in
// ${XDG_CACHE_HOME:-~/.cache}/dlaunch/sync (0700). Without a place for it nothing is ever taken
// away.
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
  /// `env`: the agent's own. `root` is there already.
  SyncRecord(const Environment& env, const std::string& root, const std::string& origin);

  /// Empty also where there is none, or one that is not ours, damaged or of another version.
  [[nodiscard]] SyncEntries load() const;
  /// Whole or not at all. What cannot be written is not: the record only ever makes a sync do less.
  void save(const SyncEntries& entries) const;

  /// Empty: no place.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string root_;
  std::string origin_;
  std::string node_;  // this machine, and which folder it has at the path of the root
  std::string folder_;
  std::string path_;
};

}  // namespace dlaunch
