#include "node/stage/stage_record.h"

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

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

/// What Python has compiled in a folder on this node goes with the folder: an empty folder would
/// still be a package that can be imported.
int StageRecord::remove(SyncTree& tree, const SyncEntry& entry) const {
  const bool is_folder = entry.kind == SyncEntry::Kind::folder;
  const int result = tree.remove(entry.path, is_folder);
  if (!is_folder || (result != ENOTEMPTY && result != EEXIST)) return result;
  const std::string cache = entry.path + "/__pycache__";
  std::error_code error;
  std::vector<std::string> compiled;
  for (const auto& file : std::filesystem::directory_iterator(root_ + '/' + cache, error)) {
    if (file.path().extension() == ".pyc") compiled.push_back(file.path().filename());
  }
  for (const std::string& name : compiled)
    static_cast<void>(tree.remove(cache + '/' + name, false));
  static_cast<void>(tree.remove(cache, true));
  return tree.remove(entry.path, true);
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
    if (remove(tree, entry) == 0) {
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
