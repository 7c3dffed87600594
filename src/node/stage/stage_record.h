// What stagings from one path of the launcher have put at a target of this node: a later one
// removes what is gone there, unless it was changed here. Otherwise the files of an old version of
// a Python package would stay beside the new ones. node/stage/staged_targets.h lists the records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/environment.h"
#include "model/stage.h"
#include "model/sync.h"
#include "node/sync/sync_record.h"
#include "node/sync/sync_tree.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class StageRecord {
 public:
  /// `env`, `root`: as for SyncRecord.
  StageRecord(const Environment& env, const std::string& root, const StageOrigin& origin);

  /// An entry of the source. `is_ours`: this staging writes it, or it is known that an earlier one
  /// did.
  void add(const SyncEntry& entry, bool is_ours);
  /// Whether something that is here is gone from the source, and remove_some() would remove it.
  [[nodiscard]] bool has_gone(SyncTree& tree) const;
  /// Before anything is written, because a staging may be interrupted. `about`: what it says of the
  /// target; its time and author count only if it `writes` any of it.
  void save(StagedTarget about, bool writes);
  /// Removes some of what is gone; an error lets it stay. True: done, and the record is saved.
  [[nodiscard]] bool remove_some(SyncTree& tree);
  [[nodiscard]] std::uint64_t removed() const { return removed_; }

 private:
  std::string root_;
  bool removes_;
  SyncRecord record_;
  std::optional<StagedTarget> about_;
  SyncEntries earlier_;
  SyncEntries now_;  // of the entries, those that stagings have put here
  std::uint64_t removed_ = 0;
  bool is_changed_ = false;
  bool is_done_ = false;
};

/// The origin of the SyncRecord of a staging, and back.
[[nodiscard]] std::string record_origin(const std::string& root, const StageOrigin& origin);
/// Empty: it is the origin of a sync.
[[nodiscard]] std::string source_in(const std::string& record_origin);

/// A folder's removal takes what Python has compiled in it on this node, because an empty folder
/// would still be a package that can be imported. Returns 0 or an errno.
[[nodiscard]] int remove_staged(SyncTree& tree, const std::string& root, const SyncEntry& entry);

}  // namespace dlaunch
