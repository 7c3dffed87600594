#include "node/stage/stage_record.h"

#include <iterator>

#include "sync/rules.h"

namespace dlaunch {

namespace {

constexpr int kLooks = 256;  // in one turn

}  // namespace

void StageRecord::add(const SyncEntry& entry, bool is_written) {
  if (is_written || earlier_.contains(entry.path)) now_.emplace(entry.path, entry);
}

void StageRecord::save() {
  SyncEntries both = now_;
  both.insert(earlier_.begin(), earlier_.end());
  is_changed_ = both != earlier_;
  if (is_changed_) record_.save(both);
}

bool StageRecord::remove_some(SyncTree& tree) {
  if (is_done_) return true;
  // From the last on: what is in a folder comes before it.
  for (int i = 0; i < kLooks && !earlier_.empty(); ++i) {
    const auto [path, entry] = *std::prev(earlier_.end());
    earlier_.erase(std::prev(earlier_.end()));
    if (now_.contains(path)) continue;
    is_changed_ = true;
    if (!sync::is_untouched(tree.look(path), entry)) continue;
    if (tree.remove(path, entry.kind == SyncEntry::Kind::folder) == 0) {
      ++removed_;
    } else {
      now_.emplace(path, entry);
    }
  }
  if (!earlier_.empty()) return false;
  is_done_ = true;
  if (is_changed_) record_.save(now_);
  return true;
}

}  // namespace dlaunch
