#include "node/unpack/unpack_archive.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "model/result.h"
#include "node/unpack/unpack_record.h"
#include "os/clear_folder.h"
#include "os/files.h"
#include "os/write_all.h"
#include "sync/unpack_rules.h"

namespace dlaunch {

namespace {

constexpr const char* kContent = "/content";  // in the place
constexpr const char* kOld = "/old";          // likewise: what was the target
constexpr mode_t kPermissions = 0777;

mode_t own_umask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

std::string wrong_member(const ArchiveMember& member, int error) {
  const bool is_way = error == ENOTDIR || error == ELOOP;
  return "its member " + member.name +
         (is_way ? " leads through a link or a file" : ": " + errno_text(error));
}

}  // namespace

std::string UnpackArchive::run() {
  const std::string place = sync::unpacking_beside(order_.name);
  if (const std::string problem = open(); !problem.empty()) return problem;
  std::string problem = unpack();
  if (problem.empty()) problem = put_in_place();
  if (holds_old_) return problem;
  int error = clear_folder(place_, sign_);
  if (error == 0) error = parent_.remove(place, true);
  if (problem.empty() && error != 0) problem = place + ": " + errno_text(error);
  return problem;
}

/// The place may be left over from an interrupted staging.
std::string UnpackArchive::open() {
  if (const int error = parent_.open(order_.parent, false); error != 0) return errno_text(error);
  const std::string place = sync::unpacking_beside(order_.name);
  const std::string path = order_.parent + '/' + place;
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return errno_text(errno);
  place_ = lock_own_folder(path);
  if (!place_ && errno != EWOULDBLOCK) return place + ": is not a folder of this user";
  // We have no lock, or it is on a folder that its owner has since removed.
  struct stat ours {};
  struct stat now {};
  if (!place_ || ::fstat(place_.get(), &ours) != 0 || ::lstat(path.c_str(), &now) != 0 ||
      ours.st_ino != now.st_ino)
    return "another staging unpacks it: that of another run, or of another node that shares the "
           "folder";
  // On a file system that cannot exchange folders, the old folder may be in this place and nowhere
  // else.
  if (parent_.look(order_.name).kind == sync::Found::Kind::nothing)
    static_cast<void>(parent_.rename(place + kOld, order_.name));
  int error = clear_folder(place_, sign_);
  const std::string content = "/proc/self/fd/" + std::to_string(place_.get()) + kContent;
  if (error == 0 && ::mkdir(content.c_str(), 0700) != 0) error = errno;
  if (error == 0) error = content_.open(content, false);
  usual_.mode = kPermissions & ~own_umask();
  folders_["."] = usual_;
  return error == 0 ? std::string() : place + ": " + errno_text(error);
}

std::string UnpackArchive::unpack() {
  const std::string trouble = "cannot be unpacked: ";
  if (const std::string problem = reader_.open(); !problem.empty()) return trouble + problem;
  std::optional<ArchiveMember> member;
  do {
    sign_();
    std::string problem = reader_.next(member);
    if (problem.empty() && member) problem = take(*member);
    if (!problem.empty()) return trouble + problem;
  } while (member);
  const int error = file_.wait_for_hash();
  return error == 0 ? std::string() : trouble + errno_text(error);
}

std::string UnpackArchive::take(const ArchiveMember& member) {
  using Kind = ArchiveMember::Kind;
  const auto path = sync::member_path(member.name);
  const bool is_folder = member.kind == Kind::folder;
  if (!path || (*path == "." && !is_folder))
    return "its member " + member.name + " leads out of the folder";
  if (member.kind == Kind::other) {
    ++skipped_;
    return "";
  }
  int error = make_folders(*path);
  if (error == 0 && is_folder) {
    error = make_folder(*path);
    folders_[*path] = {member.mode, member.mtime};
  } else if (error == 0 && member.kind == Kind::link) {
    error = content_.make_link(*path, member.target);
  } else if (error == 0 && member.kind == Kind::hard_link) {
    const auto target = sync::member_path(member.target);
    if (!target)
      return "its member " + member.name + " links to " + member.target +
             ", which is outside the folder";
    error = content_.make_hard_link(*path, *target);
  } else if (error == 0) {
    return make_file(member, *path);
  }
  return error == 0 ? std::string() : wrong_member(member, error);
}

/// Makes the folders above a path.
int UnpackArchive::make_folders(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || folders_.contains(path.substr(0, slash))) return 0;
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string folder = path.substr(0, end);
    if (folders_.contains(folder)) continue;
    if (const int error = make_folder(folder); error != 0) return error;
    folders_[folder] = usual_;
  }
  return 0;
}

int UnpackArchive::make_folder(const std::string& path) {
  if (folders_.contains(path)) return 0;
  const int error = content_.make_folder(path);
  return error == EEXIST ? ENOTDIR : error;  // all folders made so far are in folders_
}

std::string UnpackArchive::make_file(const ArchiveMember& member, const std::string& path) {
  UniqueFd file;
  if (const int error = content_.make_file(path, file); error != 0)
    return wrong_member(member, error);
  std::optional<ArchiveReader::Piece> piece;
  std::uint64_t end = 0;
  do {
    sign_();
    if (std::string problem = reader_.next(piece); !problem.empty())
      return "its member " + member.name + ": " + problem;
    if (!piece) break;
    if (const int error = write_all_at(file.get(), piece->offset, piece->bytes); error != 0)
      return wrong_member(member, error);
    end = piece->offset + piece->bytes.size();
  } while (true);
  // The file may end with a hole.
  if (end < member.size && ::ftruncate(file.get(), static_cast<off_t>(member.size)) != 0)
    return wrong_member(member, errno);
  SyncEntry entry;
  entry.path = path;
  entry.mode = member.mode;
  entry.mtime = member.mtime;
  const int error = SyncTree::set_mode_and_time(file, entry);
  return error == 0 ? std::string() : wrong_member(member, error);
}

int UnpackArchive::set(SyncTree& tree, const std::string& path, const Folder& folder) {
  SyncEntry entry;
  entry.path = path;
  entry.mode = folder.mode;
  entry.mtime = folder.mtime.value_or(0);
  return folder.mtime ? tree.set_mode_and_time(entry) : tree.set_mode(entry);
}

/// While the old and the new folder change places, the record names both. So neither is taken for
/// another user's if this process ends before it is done.
std::string UnpackArchive::put_in_place() {
  const std::string content = sync::unpacking_beside(order_.name) + kContent;
  auto identity = identity_of_folder(parent_, content);
  if (!identity) return errno_text(errno);
  identity->size = file_.size();
  identity->mtime = order_.mtime;
  // In reverse order, because a folder's content comes after it in folders_.
  int error = 0;
  const Folder top = folders_["."];
  folders_.erase(".");
  for (auto folder = folders_.rbegin(); folder != folders_.rend() && error == 0; ++folder) {
    sign_();
    error = set(content_, folder->first, folder->second);
  }
  if (error != 0) return errno_text(error);
  std::vector<sync::Unpacked> record = load_unpack_record(parent_, order_.name);
  const std::string why = why_not_replaced(parent_, order_.name, record);
  if (!why.empty()) return "cannot be unpacked: it" + why;
  const auto old = identity_of_folder(parent_, order_.name);
  std::erase_if(record, [&](const auto& one) { return !old || !one.is_same_folder(*old); });
  const bool is_ours = !record.empty();
  record.insert(record.begin(), *identity);
  error = save_unpack_record(parent_, order_.name, record);
  // A folder that is not ours is replaced only if it is empty; rename(2) itself checks that.
  if (error == 0) error = is_ours ? exchange(content) : parent_.rename(content, order_.name);
  if (error == 0) error = set(parent_, order_.name, top);
  if (error == 0) error = save_unpack_record(parent_, order_.name, {*identity});
  return error == 0 ? std::string() : errno_text(error);
}

int UnpackArchive::exchange(const std::string& content) {
  const sync::Found found = parent_.look(order_.name);
  if (found.kind == sync::Found::Kind::nothing) return parent_.rename(content, order_.name);
  // To get another parent, a folder must be writable (rename(2)).
  if ((found.mode & S_IWUSR) == 0) {
    const int error = set(parent_, order_.name, {found.mode | S_IRWXU, std::nullopt});
    if (error != 0) return error;
  }
  int error = parent_.exchange(content, order_.name);
  if (error != EINVAL && error != ENOSYS) return error;
  // This file system cannot exchange them, so for a moment the target does not exist.
  const std::string old = sync::unpacking_beside(order_.name) + kOld;
  error = parent_.rename(order_.name, old);
  if (error != 0) return error;
  error = parent_.rename(content, order_.name);
  if (error != 0) holds_old_ = parent_.rename(old, order_.name) != 0;
  return error;
}

}  // namespace dlaunch
