#include "node/stage/stage_source.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "node/ranks/python_installation.h"
#include "os/sparse_file.h"
#include "sync/rules.h"
#include "sync/unpack_rules.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

constexpr mode_t kPermissions = 0777;

/// The path without symbolic links, as far as it exists.
std::string real_path(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

}  // namespace

bool StageSource::list_some() {
  if (lister_) {
    if (!lister_->step()) return false;
    end_folder();
  } else if (next_ < items_.size()) {
    begin_item(items_[next_++]);
  }
  return !status_ || (!lister_ && next_ == items_.size());
}

void StageSource::begin_item(const StageItem& item) {
  struct stat info {};
  if (::stat(item.from.c_str(), &info) != 0)
    return fail(exit_code::kJobFile, item.from + ": " + errno_text(errno));
  const bool is_file = S_ISREG(info.st_mode);
  if (!is_file && !S_ISDIR(info.st_mode))
    return fail(exit_code::kJobFile, item.from + ": is neither a file nor a folder");
  const std::string to = sync::without_slashes(std::filesystem::path(item.to).lexically_normal());
  if (std::string problem = problem_of(item, is_file, to); !problem.empty())
    return fail(exit_code::kJobFile, std::move(problem));
  targets_.push_back(to);
  is_file_.push_back(is_file);
  sources_.push_back(item.from);
  mark(is_file ? to.substr(0, to.rfind('/') + 1) : to + '/',
       !item.unpack &&
           to == sync::without_slashes(std::filesystem::path(item.from).lexically_normal()));
  if (is_file) return add_file(item, to, info);
  roots_.push_back(to);
  lister_.emplace(folder_settings(item, what_));
}

WorkdirListSettings StageSource::folder_settings(const StageItem& item, const std::string& what) {
  WorkdirListSettings settings;
  settings.root = item.from;
  settings.most_files = sync::kMostStaged;
  settings.most_bytes = std::numeric_limits<std::uint64_t>::max();
  settings.what = what;
  settings.is_named = true;
  settings.exclude = item.exclude;
  return settings;
}

/// Why the item cannot be staged to `to`, a normalized path; empty: it can.
std::string StageSource::problem_of(const StageItem& item, bool is_file,
                                    const std::string& to) const {
  if (is_file && !item.unpack && item.to.ends_with('/'))
    return item.from + ": is a file, but " + item.to + " names a folder: name the file, as in " +
           item.to + item.from.substr(item.from.rfind('/') + 1);
  if (to == "/") return item.from + ": `to` must name a file or a folder, not /";
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const StageItem& other = items_[i];
    if (targets_[i] == to) return other.from + " and " + item.from + " have the same target: " + to;
    // The folder that gets an archive's content is replaced as a whole.
    const bool is_in_it = other.unpack && sync::lies_in(to, targets_[i]);
    if (is_in_it || (item.unpack && sync::lies_in(targets_[i], to)))
      return (is_in_it ? to : targets_[i]) + ": lies in " + (is_in_it ? targets_[i] : to) +
             ", which an archive is unpacked into";
  }
  if (!item.unpack) return "";
  // The launcher's machine may itself be a node.
  for (const StageItem& one : items_) {
    if (sync::lies_in(real_path(one.from), real_path(to)))
      return one.from + ": lies in " + to + ", which is replaced as a whole";
  }
  if (!is_file) return item.from + ": is a folder, but `unpack` is for archives";
  if (to.size() - to.rfind('/') - 1 > sync::kMostUnpackName)
    return item.to + ": has a name that is too long for `unpack`";
  const std::string beginning = beginning_of(item.from, sync::kArchiveBeginning);
  return sync::is_archive(beginning)
             ? ""
             : item.from + ": cannot be unpacked: archives are " + sync::kArchives;
}

/// An archive is staged as a file beside its target.
void StageSource::add_file(const StageItem& item, const std::string& to, const struct stat& info) {
  const std::size_t slash = to.rfind('/');
  roots_.push_back(slash == 0 ? "/" : to.substr(0, slash));
  const std::string name = to.substr(slash + 1);
  SyncEntry entry;
  entry.path = item.unpack ? sync::archive_beside(name) : name;
  entry.mode = info.st_mode & kPermissions;
  entry.size = static_cast<std::uint64_t>(info.st_size);
  entry.mtime = sync::nanoseconds(info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  if (!sync::is_safe_path(name))
    return fail(exit_code::kJobFile, item.to + ": is not a valid name for a staged file");
  ++extent_.files;
  extent_.bytes += entry.size;
  StageEntry at{0, std::move(entry), item.unpack ? name : std::string()};
  if (may_have_holes(info)) {
    const UniqueFd fd(::open(item.from.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    at.holes = bytes_in_holes(fd.get(), at.entry.size, sync::kBlockBytes);
  }
  add(std::move(at));
}

void StageSource::end_folder() {
  if (!lister_->status()) {
    status_ = lister_->status();
  } else {
    extent_.files += lister_->extent().files;
    extent_.bytes += lister_->extent().bytes;
    for (const std::string& path : lister_->special())
      special_.push_back(sources_.back() + '/' + path);
    add_folder(lister_->next_names(), lister_->holes(), lister_->take());
  }
  lister_.reset();
}

void StageSource::add_folder(std::map<std::size_t, std::size_t> names,
                             const std::map<std::size_t, std::uint64_t>& holes,
                             std::vector<SyncEntry> entries) {
  // From each name to the last one instead of the next one.
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (const auto next = names.find(name->second); next != names.end())
      name->second = next->second;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    StageEntry at{0, std::move(entries[i])};
    if (const auto name = names.find(i); name != names.end()) {
      const SyncEntry& content = entries[name->second];
      at.content_after = static_cast<std::uint32_t>(name->second - i);
      at.entry.mode = content.mode;  // it may have changed since the first name was seen
      at.entry.size = content.size;
      at.entry.mtime = content.mtime;
    } else if (const auto found = holes.find(i); found != holes.end()) {
      at.holes = found->second;
    }
    add(std::move(at));
  }
}

void StageSource::add(StageEntry at) {
  at.root = static_cast<std::uint32_t>(roots_.size() - 1);
  map_.add(sync::content_of(at));
  entries_.push_back(std::move(at));
}

void StageSource::fail(int code, std::string message) {
  status_ = dlaunch::fail(code, what_ + std::move(message));
}

std::string StageSource::source_of(std::uint32_t entry) const {
  const StageEntry& at = entries_[entry];
  return sources_[at.root] + (is_file_[at.root] ? "" : '/' + at.entry.path);
}

void StageSource::mark(const std::string& folder, bool is_same_path) {
  markers_.push_back(is_same_path ? FolderMarker(folder) : FolderMarker());
  const std::string& name = markers_.back().name();
  origins_.push_back({"", name.empty() ? name : folder + name, "", false});
}

std::vector<StageOrigin> StageSource::origins(const std::string& machine) const {
  std::vector<bool> has_any(roots_.size());
  for (const StageEntry& at : entries_) has_any[at.root] = true;
  std::vector<StageOrigin> origins = origins_;
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    origins[i].name = machine + ':' + sync::without_slashes(sources_[i]);
    origins[i].target = targets_[i];
    // An empty folder may be one whose disk is not mounted.
    origins[i].removes = !is_file_[i] && has_any[i] && !items_[i].keeps && !touches_other(i);
  }
  return origins;
}

bool StageSource::touches_other(std::size_t root) const {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (i != root &&
        (sync::lies_in(targets_[i], targets_[root]) || sync::lies_in(targets_[root], targets_[i])))
      return true;
  }
  return false;
}

StagedEnvironments StageSource::environments() const {
  return staged_environments({roots_, targets_, sources_, entries_,
                              [this](std::uint32_t entry) { return source_of(entry); }});
}

std::string StageSource::read(std::uint64_t block, Reader& reader, std::string& bytes) {
  const auto place = map_.place_of(block);
  const StageEntry& at = entries_[place.entry];
  auto outcome = EntryFile::Outcome::good;
  if (!reader.file.is_open() || reader.entry != place.entry) {
    reader.entry = place.entry;
    if (is_file_[at.root]) {
      // The name itself may be a link, which was followed.
      const std::unique_ptr<char, void (*)(void*)> real(
          ::realpath(sources_[at.root].c_str(), nullptr), &::free);
      const std::string path = real ? real.get() : sources_[at.root];
      const std::size_t slash = path.rfind('/');
      SyncEntry here = at.entry;
      here.path = path.substr(slash + 1);
      outcome = reader.file.open(path.substr(0, slash), here, nullptr);
    } else {
      outcome = reader.file.open(sources_[at.root], at.entry, nullptr);
    }
  }
  if (outcome == EntryFile::Outcome::good) {
    reader.file.seek(place.offset);
    outcome = reader.file.read(place.size, bytes);
  }
  if (outcome == EntryFile::Outcome::good) return {};
  const std::string path = plain_line(source_of(place.entry));
  if (outcome == EntryFile::Outcome::failed) return path + ": " + errno_text(reader.file.error());
  has_changed_ = true;
  return path + ": changed while it was copied";
}

}  // namespace dlaunch
