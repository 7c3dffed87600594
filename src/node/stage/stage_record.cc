#include "node/stage/stage_record.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sync/rules.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr int kLooks = 256;  // in one turn
constexpr std::string_view kStage = "stage ";
constexpr std::string_view kTo = " to ";

}  // namespace

/// A folder has one record per source, whatever the folder holds; a file has one with its name.
std::string record_origin(const std::string& root, const StageOrigin& origin) {
  const bool is_root = origin.target.empty() || origin.target == root;
  return std::string(kStage) + origin.name +
         (is_root ? std::string() : std::string(kTo).append(file_name(origin.target)));
}

std::string source_in(const std::string& record_origin) {
  if (!record_origin.starts_with(kStage)) return {};
  return record_origin.substr(kStage.size());
}

StageRecord::StageRecord(const Environment& env, const std::string& root, const StageOrigin& origin)
    : root_(root),
      removes_(origin.removes),
      record_(env, root, record_origin(root, origin)),
      earlier_(record_.load(&about_)) {}

void StageRecord::add(const SyncEntry& entry, bool is_ours) {
  if (is_ours || earlier_.contains(entry.path)) now_.emplace(entry.path, entry);
}

bool StageRecord::has_gone(SyncTree& tree) const {
  return removes_ && std::any_of(earlier_.begin(), earlier_.end(), [&](const auto& one) {
           return !now_.contains(one.first) && sync::is_untouched(tree.look(one.first), one.second);
         });
}

void StageRecord::save(StagedTarget about, bool writes) {
  SyncEntries both = now_;
  both.insert(earlier_.begin(), earlier_.end());
  is_changed_ = writes || both != earlier_ || (about_ && !about_->whole);
  if (!removes_) now_ = both;
  if (!is_changed_) return;
  about.whole = false;
  about.made_folder = about.made_folder || (about_ && about_->made_folder);
  if (!writes) {
    about.staged_at = about_ ? about_->staged_at : 0;
    about.by = about_ ? about_->by : std::string();
  }
  about_ = std::move(about);
  record_.save(both, about_);
}

int remove_staged(SyncTree& tree, const std::string& root, const SyncEntry& entry) {
  const bool is_folder = entry.kind == SyncEntry::Kind::folder;
  const int result = tree.remove(entry.path, is_folder);
  if (!is_folder || (result != ENOTEMPTY && result != EEXIST)) return result;
  const std::string cache = entry.path + "/__pycache__";
  std::error_code error;
  for (const auto& other : std::filesystem::directory_iterator(root + '/' + entry.path, error)) {
    if (other.path().filename() != "__pycache__") return result;  // the folder stays
  }
  std::vector<std::string> compiled;
  for (const auto& file : std::filesystem::directory_iterator(root + '/' + cache, error)) {
    if (file.path().extension() == ".pyc") compiled.push_back(file.path().filename());
  }
  for (const std::string& name : compiled)
    static_cast<void>(tree.remove(cache + '/' + name, false));
  static_cast<void>(tree.remove(cache, true));
  return tree.remove(entry.path, true);
}

bool StageRecord::remove_some(SyncTree& tree) {
  if (is_done_) return true;
  if (!removes_) earlier_.clear();
  tree.stay_on_mount(true);
  // From last to first, so that a folder comes after its content.
  for (int i = 0; i < kLooks && !earlier_.empty(); ++i) {
    const auto [path, entry] = *std::prev(earlier_.end());
    earlier_.erase(std::prev(earlier_.end()));
    if (now_.contains(path)) continue;
    is_changed_ = true;
    if (!sync::is_untouched(tree.look(path), entry)) continue;
    if (remove_staged(tree, root_, entry) == 0) {
      ++removed_;
    } else {
      now_.emplace(path, entry);
    }
  }
  tree.stay_on_mount(false);
  if (!earlier_.empty()) return false;
  is_done_ = true;
  if (about_) about_->whole = true;
  if (is_changed_) record_.save(now_, about_);
  return true;
}

}  // namespace dlaunch
