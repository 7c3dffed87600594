#include "node/unpack/unpack_record.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "model/result.h"
#include "os/proc_file.h"
#include "os/stuck.h"
#include "sync/rules.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostPath = 4096;
constexpr std::size_t kMostRecord = 4096;  // bytes; it has at most two lines

/// Whether it is an empty folder. nullopt, with errno: it cannot be read.
std::optional<bool> is_empty_folder(SyncTree& tree, const std::string& path) {
  UniqueFd fd = tree.open_folder(path);
  if (!fd) return std::nullopt;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(fd.get()), &::closedir);
  if (!folder) return std::nullopt;
  static_cast<void>(fd.release());
  errno = 0;
  while (const dirent* const entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return false;
  }
  return errno == 0 ? std::optional(true) : std::nullopt;
}

bool is_mounted_in(SyncTree& tree, const std::string& name) {
  const UniqueFd folder = tree.open_folder(name);
  std::string path(kMostPath, '\0');
  const std::string link = "/proc/self/fd/" + std::to_string(folder.get());
  const ssize_t n = ::readlink(link.c_str(), path.data(), path.size());
  path.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return has_mount_below(path, read_proc_file("/proc/self/mountinfo"));
}

}  // namespace

std::optional<sync::Unpacked> identity_of_folder(SyncTree& tree, const std::string& path) {
  const UniqueFd folder = tree.open_folder(path);
  struct statx info {};
  if (!folder || ::statx(folder.get(), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &info) != 0)
    return std::nullopt;
  sync::Unpacked identity;
  identity.device = makedev(info.stx_dev_major, info.stx_dev_minor);
  identity.inode = info.stx_ino;
  if ((info.stx_mask & STATX_BTIME) != 0)
    identity.born = sync::nanoseconds(info.stx_btime.tv_sec, info.stx_btime.tv_nsec);
  return identity;
}

std::vector<sync::Unpacked> load_unpack_record(SyncTree& tree, const std::string& name) {
  const UniqueFd file = tree.open_file(sync::record_beside(name));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return {};
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) return {};
  std::string text(kMostRecord, '\0');
  const ssize_t n = ::read(file.get(), text.data(), text.size());
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return sync::read_record(text);
}

int save_unpack_record(SyncTree& tree, const std::string& name,
                       const std::vector<sync::Unpacked>& record) {
  SyncEntry entry;
  entry.path = sync::record_beside(name);
  entry.mode = 0600;
  entry.mtime = record.empty() ? 0 : record.front().mtime;
  SyncTree::NewFile file;
  if (const int error = tree.begin_file(entry.path, file); error != 0) return error;
  if (const int error = file.write(sync::record_text(record)); error != 0) return error;
  return tree.finish_file(entry, file);
}

std::string why_not_replaced(SyncTree& tree, const std::string& name,
                             const std::vector<sync::Unpacked>& record) {
  const sync::Found found = tree.look(name);
  if (found.kind == sync::Found::Kind::nothing) return "";
  if (found.kind != sync::Found::Kind::folder)
    return " is not a folder: an archive cannot be unpacked there";
  const auto identity = identity_of_folder(tree, name);
  if (!identity) return ": " + errno_text(errno);
  if (identity->device != tree.device())
    return " is a mount point and cannot be replaced: name a folder in it";
  if (is_mounted_in(tree, name))
    return " has a file system mounted below it, and cannot be replaced: name another folder";
  // Without a birth time, a folder that a user has made since may have the same inode number.
  const bool is_ours = std::any_of(record.begin(), record.end(), [&](const auto& one) {
    return one.born != 0 && one.is_same_folder(*identity);
  });
  if (is_ours) return "";
  const auto is_empty = is_empty_folder(tree, name);
  if (!is_empty) return ": " + errno_text(errno);
  return *is_empty ? ""
         : identity->born == 0
             ? " is not empty, and its file system does not record when a folder was made, so "
               "dlaunch cannot recognize a folder that it unpacked: remove the folder there, or "
               "name another one"
             : " is not empty, and dlaunch did not unpack what is in it: remove the folder "
               "there, or name another one";
}

}  // namespace dlaunch
