#include "node/stage/staged_place.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/result.h"
#include "node/stage/stage_record.h"
#include "node/unpack/unpack_record.h"
#include "os/clear_folder.h"
#include "os/clock.h"
#include "sync/rules.h"
#include "sync/unpack_rules.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using Kind = SyncEntry::Kind;

// A temporary file that is unchanged for this long is not being written (SyncTree::NewFile).
constexpr std::chrono::seconds kForgotten{600};
constexpr std::string_view kPart = ".dlaunch-part-";
constexpr std::string_view kStagePart = ".dlaunch-stage-";
constexpr const char* kGone = "/gone";

std::string in_folder(const std::string& folder, const std::string& name) {
  return folder == "." ? name : folder + '/' + name;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

/// Files in a folder and below it, and their bytes. Follows no link.
SyncExtent extent_of(UniqueFd folder) {
  SyncExtent extent;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(folder ? ::fdopendir(folder.get()) : nullptr,
                                                 &::closedir);
  if (!list) return extent;
  const int fd = folder.release();
  while (const dirent* const entry = ::readdir(list.get())) {
    const std::string_view name = entry->d_name;
    struct stat info {};
    if (name == "." || name == ".." ||
        ::fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    if (S_ISDIR(info.st_mode)) {
      const SyncExtent below = extent_of(
          UniqueFd(::openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
      extent.files += below.files;
      extent.bytes += below.bytes;
    } else {
      ++extent.files;
      if (S_ISREG(info.st_mode)) extent.bytes += static_cast<std::uint64_t>(info.st_size);
    }
  }
  return extent;
}

}  // namespace

StagedPlace::StagedPlace(const Environment& env, const FoundRecord& found)
    : root_(found.root), record_(env, found.root, found.origin) {
  const std::string source = source_in(found.origin);
  if (source.empty() || tree_.open(root_, false) != 0) return;
  tree_.stay_on_mount(true);
  std::optional<StagedTarget> about;
  entries_ = record_.load(&about);
  about_.target = root_;
  about_.source = source;
  about_.whole = true;
  if (about) {
    // A record may name only its own folder or something directly in it.
    const bool is_in_root =
        about->target == root_ || (folder_of(about->target) == (root_ == "/" ? "" : root_) &&
                                   sync::is_safe_path(file_name(about->target)));
    if (!is_in_root) return;
    about_ = std::move(*about);
    about_.files = about_.bytes = about_.unfinished = 0;
    about_.users.clear();
    about_.problem.clear();
    about_.failed = false;
  }
  is_staged_ = !about_.unpacked || about_.target != root_;
}

std::string StagedPlace::name() const {
  return std::string(file_name(about_.target));
}

void StagedPlace::look() {
  if (about_.unpacked) {
    if (is_unpacked_here()) {
      const SyncExtent extent = extent_of(tree_.open_folder(name()));
      about_.files = std::max<std::uint64_t>(extent.files, 1);
      about_.bytes = extent.bytes;
    }
  } else {
    for (const auto& [path, entry] : entries_) {
      if (entry.kind == Kind::folder) continue;
      const sync::Found found = tree_.look(path);
      if (!sync::is_untouched(found, entry)) continue;
      ++about_.files;
      count_bytes(found);
    }
  }
  for (const Leftover& left : leftovers()) about_.unfinished += left.bytes;
}

/// Counts a file that has several names once.
void StagedPlace::count_bytes(const sync::Found& found) {
  const std::pair file(found.device, found.inode);
  if (!counted_.contains(file)) about_.bytes += found.size;
  if (found.names > 1) counted_.insert(file);
}

bool StagedPlace::is_unpacked_here() {
  const auto folder = identity_of_folder(tree_, name());
  const auto record = load_unpack_record(tree_, name());
  return folder && std::any_of(record.begin(), record.end(),
                               [&](const auto& one) { return one.is_same_folder(*folder); });
}

// ---- what interrupted stagings have left

bool StagedPlace::is_left(const std::string& path, Leftover& left) {
  const sync::Found found = tree_.look(path);
  left = {path, found.kind == sync::Found::Kind::folder, 0};
  if (!left.is_folder && found.kind != sync::Found::Kind::file) return false;
  const UniqueFd fd = left.is_folder ? tree_.open_folder(path) : tree_.open_file(path);
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || info.st_uid != ::geteuid()) return false;
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return false;
  const auto changed = std::chrono::seconds(info.st_ctim.tv_sec);
  const bool is_new = wall_now().time_since_epoch() - changed < kForgotten;
  if (file_name(path).starts_with(kPart) && is_new) return false;
  left.bytes = left.is_folder ? extent_of(tree_.open_folder(path)).bytes
                              : static_cast<std::uint64_t>(info.st_size);
  return true;
}

/// Adds the leftovers in a folder. `in_target`: the folder belongs to a target, so parts of any
/// file count.
void StagedPlace::add_left_in(const std::string& folder, bool in_target,
                              std::vector<Leftover>& left) {
  UniqueFd fd = tree_.open_folder(folder);
  const std::unique_ptr<DIR, int (*)(DIR*)> list(fd ? ::fdopendir(fd.get()) : nullptr, &::closedir);
  if (!list) return;
  static_cast<void>(fd.release());
  while (const dirent* const entry = ::readdir(list.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kPart) && !(in_target && name.starts_with(kStagePart))) continue;
    Leftover one;
    if (is_left(in_folder(folder, entry->d_name), one)) left.push_back(std::move(one));
  }
}

std::vector<StagedPlace::Leftover> StagedPlace::leftovers() {
  std::vector<Leftover> left;
  if (about_.target == root_) {
    std::set<std::string> folders{"."};
    for (const auto& [path, entry] : entries_) folders.insert(folder_of(path));
    for (const std::string& folder : folders) add_left_in(folder, true, left);
    return left;
  }
  std::vector<std::string> names;
  for (const auto& [path, entry] : entries_) names.push_back(SyncTree::part_of(path));
  if (about_.unpacked) {
    names.push_back(sync::archive_beside(name()));
    names.push_back(sync::unpacking_beside(name()));
  }
  for (const std::string& one : names) {
    Leftover found;
    if (is_left(one, found)) left.push_back(std::move(found));
  }
  add_left_in(".", false, left);
  return left;
}

// ---- removing

void StagedPlace::fail(const std::string& path, int error) {
  if (!about_.failed)
    about_.problem = (path == "." ? root_ : in_folder(root_, path)) + ": " + errno_text(error);
  about_.failed = true;
}

void StagedPlace::clean_leftovers() {
  for (const Leftover& left : leftovers()) {
    int error = left.is_folder ? clear_folder(tree_.open_folder(left.path), [] {}) : 0;
    if (error == 0) error = tree_.remove(left.path, left.is_folder);
    if (error != 0) {
      fail(left.path, error);
    } else {
      about_.unfinished += left.bytes;
    }
  }
}

/// False if the user may have moved the data away and made a link to it; then it is no longer
/// dlaunch's.
bool StagedPlace::is_where_it_was() const {
  std::error_code error;
  const std::string real = std::filesystem::canonical(root_, error).string();
  return real == (about_.real_root.empty() ? root_ : about_.real_root);
}

void StagedPlace::clean() {
  if (!is_where_it_was()) {
    about_.problem =
        "a link in its path leads elsewhere than when it was staged, so nothing is removed";
    about_.failed = true;
    return;
  }
  clean_leftovers();
  about_.unpacked ? clean_unpacked() : clean_entries();
  if (!entries_.empty()) return record_.save(entries_, about_);
  record_.remove();
  // The folder was made for files that are gone now. rmdir(2) removes it only if it is empty, and
  // never a link.
  if (about_.made_folder && about_.target == root_) static_cast<void>(::rmdir(root_.c_str()));
}

/// Makes read-only folders writable, which were staged with their own modes.
void StagedPlace::open_folders() {
  for (const auto& [path, entry] : entries_) {
    if (entry.kind != Kind::folder) continue;
    const sync::Found found = tree_.look(path);
    if (found.kind != sync::Found::Kind::folder || (found.mode & S_IRWXU) == S_IRWXU) continue;
    SyncEntry open = entry;
    open.mode = found.mode | S_IRWXU;
    if (tree_.set_mode(open) != 0) continue;
    open.mode = found.mode;
    opened_.push_back(std::move(open));
  }
}

void StagedPlace::restore_modes() {
  for (auto one = opened_.rbegin(); one != opened_.rend(); ++one)
    static_cast<void>(tree_.set_mode(*one));  // most are gone
}

void StagedPlace::clean_entries() {
  open_folders();
  SyncEntries left;
  std::uint64_t changed = 0;
  // From last to first, so that a folder comes after its content.
  for (auto one = entries_.rbegin(); one != entries_.rend(); ++one) {
    const auto& [path, entry] = *one;
    const bool is_folder = entry.kind == Kind::folder;
    errno = 0;
    const sync::Found found = tree_.look(path);
    if (found.kind == sync::Found::Kind::nothing) {
      if (errno == ENOENT || errno == ENOTDIR) continue;
      fail(path, errno);
      left.insert(*one);
      continue;
    }
    if (!sync::is_untouched(found, entry)) {
      ++changed;
      if (!about_.whole) left.insert(*one);
      continue;
    }
    const int error = remove_staged(tree_, root_, entry);
    if (error == 0 && !is_folder) {
      ++about_.files;
      count_bytes(found);
    } else if (error != 0 && !(is_folder && (error == ENOTEMPTY || error == EEXIST))) {
      fail(path, error);
      left.insert(*one);
    }
  }
  restore_modes();
  if (!left.empty() && !about_.failed) {
    about_.problem = "the last staging was interrupted, so " + counted(changed, "file") +
                     (changed == 1 ? " stays" : " stay") +
                     ", which may have been changed since; stage it again first";
    about_.failed = true;
  }
  entries_ = std::move(left);
  if (changed > 0 && about_.problem.empty())
    about_.problem = counted(changed, "file") +
                     (changed == 1 ? " stays, because it was" : " stay, because they were") +
                     " changed after the staging";
}

/// Renames the folder and removes its record before it removes anything in it: a half-removed
/// folder must not count as unpacked.
void StagedPlace::clean_unpacked() {
  const std::string folder = name();
  if (!is_unpacked_here()) {
    if (tree_.look(folder).kind == sync::Found::Kind::nothing)
      static_cast<void>(tree_.remove(sync::record_beside(folder), false));
    return entries_.clear();
  }
  const auto record = load_unpack_record(tree_, folder);
  if (const std::string why = why_not_replaced(tree_, folder, record); !why.empty()) {
    about_.problem = about_.target + why;
    about_.failed = true;
    return;
  }
  const SyncExtent extent = extent_of(tree_.open_folder(folder));
  const std::string place = sync::unpacking_beside(folder);
  int error = tree_.make_folder(place);
  SyncEntry entry;
  entry.path = folder;
  entry.mode = tree_.look(folder).mode | S_IRWXU;  // needed to change its parent (rename(2))
  if (error == 0) error = tree_.set_mode(entry);
  if (error == 0) error = tree_.rename(folder, place + kGone);
  if (error != 0) return fail(folder, error);
  const auto moved = identity_of_folder(tree_, place + kGone);
  const bool is_ours = moved && std::any_of(record.begin(), record.end(), [&](const auto& one) {
                         return one.is_same_folder(*moved);
                       });
  if (!is_ours) {  // it was replaced at this very moment
    static_cast<void>(tree_.rename(place + kGone, folder));
    return fail(folder, EBUSY);
  }
  static_cast<void>(tree_.remove(sync::record_beside(folder), false));
  error = clear_folder(tree_.open_folder(place), [] {});
  if (error == 0) error = tree_.remove(place, true);
  if (error != 0) return fail(place, error);
  about_.files = std::max<std::uint64_t>(extent.files, 1);
  about_.bytes = extent.bytes;
  entries_.clear();
}

}  // namespace dlaunch
