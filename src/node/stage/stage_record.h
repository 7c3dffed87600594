// Records what stagings from one path of the launcher have put at a target of this node. A later
// staging removes what is gone from that path, unless it was changed here. Without that, the files
// of an old version of a Python package would stay beside the new ones. node/stage/staged_targets.h
// lists the records.
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

  /// An entry of the source. `is_ours`: this staging writes it, or an earlier one is known to have
  /// written it.
  void add(const SyncEntry& entry, bool is_ours);
  /// Whether remove_some() would remove something: an entry that is here but gone from the source.
  [[nodiscard]] bool has_gone(SyncTree& tree) const;
  /// Call it before anything is written, because a staging may be interrupted. `about`: what to
  /// record about the target; its time and author count only if the staging `writes` to the target.
  void save(StagedTarget about, bool writes);
  /// Removes some of what is gone, as far as possible. True: done, and the record is saved.
  [[nodiscard]] bool remove_some(SyncTree& tree);
  [[nodiscard]] std::uint64_t removed() const { return removed_; }

 private:
  std::string root_;
  bool removes_;
  SyncRecord record_;
  std::optional<StagedTarget> about_;
  SyncEntries earlier_;
  SyncEntries now_;  // the entries that stagings have put here
  std::uint64_t removed_ = 0;
  bool is_changed_ = false;
  bool is_done_ = false;
};

/// The origin of a staging's SyncRecord.
[[nodiscard]] std::string record_origin(const std::string& root, const StageOrigin& origin);
/// The source in such an origin; empty: it is the origin of a sync.
[[nodiscard]] std::string source_in(const std::string& record_origin);

/// For a folder, also removes what Python has compiled in it on this node: otherwise the folder
/// would stay and still be a package that can be imported. Returns 0 or an errno.
[[nodiscard]] int remove_staged(SyncTree& tree, const std::string& root, const SyncEntry& entry);

}  // namespace dlaunch
