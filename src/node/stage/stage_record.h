// What stagings from one folder of the launcher have put into a folder of this node: a later one
// removes what is gone there, unless it was changed here. Otherwise the files of an old version of
// a Python package would stay beside the new ones.
#pragma once

#include <cstdint>
#include <string>

#include "model/environment.h"
#include "model/sync.h"
#include "node/sync/sync_record.h"
#include "node/sync/sync_tree.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class StageRecord {
 public:
  /// `env`, `root`: as for SyncRecord. `origin`: the machine and the folder that it comes from.
  StageRecord(const Environment& env, const std::string& root, const std::string& origin)
      : root_(root), record_(env, root, "stage " + origin), earlier_(record_.load()) {}

  /// An entry of the source folder. `is_written`: by this staging.
  void add(const SyncEntry& entry, bool is_written);
  /// Before anything is written, because a staging may be interrupted.
  void save();
  /// Removes some of what is gone; an error lets it stay. True: done, and the record is saved.
  [[nodiscard]] bool remove_some(SyncTree& tree);
  [[nodiscard]] std::uint64_t removed() const { return removed_; }

 private:
  [[nodiscard]] int remove(SyncTree& tree, const SyncEntry& entry) const;

  std::string root_;
  SyncRecord record_;
  SyncEntries earlier_;
  SyncEntries now_;  // of the entries, those that stagings have put here
  std::uint64_t removed_ = 0;
  bool is_changed_ = false;
  bool is_done_ = false;
};

}  // namespace dlaunch
