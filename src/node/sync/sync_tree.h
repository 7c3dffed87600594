// The workdir of a node while a sync writes to it. All paths are below one folder, and none leads
// out of it. Symbolic links in a path are never followed, not even new ones. A file gets its name
// only when it is complete.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "os/unique_fd.h"
#include "sync/rules.h"

namespace dlaunch {

/// Lives on the agent's one thread. All paths must be safe (sync::is_safe_path). Functions that
/// return an int return 0 or an errno.
class SyncTree {
 public:
  /// Opens the folder, following links in its path; with `make`, makes missing folders.
  [[nodiscard]] int open(const std::string& root, bool make);
  /// For removals: whether paths that cross a mount point are refused from now on (EXDEV).
  void stay_on_mount(bool stays);
  /// Returns 0 if files can be made in the folder.
  [[nodiscard]] int check_writable() const;
  /// Whether the folder itself contains this name.
  [[nodiscard]] bool has(const std::string& name) const;
  /// Bytes free for this user; if unknown, the largest number.
  [[nodiscard]] std::uint64_t room() const;
  /// Files that this user can still make; if unknown, the largest number.
  [[nodiscard]] std::uint64_t room_for_files() const;
  /// The file system; 0: unknown.
  [[nodiscard]] std::uint64_t device() const;

  /// Returns sizes and times for files only. Kind::nothing, with errno, also for a path below
  /// something that is not a folder.
  [[nodiscard]] sync::Found look(const std::string& path);
  [[nodiscard]] UniqueFd open_file(const std::string& path);
  /// Opens a folder for listing. Invalid, with errno, if it is not a folder, even if it is a link
  /// to one.
  [[nodiscard]] UniqueFd open_folder(const std::string& path);
  /// The folder has mode 0700 until set_mode().
  [[nodiscard]] int make_folder(const std::string& path);
  [[nodiscard]] int make_link(const std::string& path, const std::string& target);
  /// Makes `path` another name of the file `other`. Replaces what is at `path`, except a folder.
  [[nodiscard]] int make_hard_link(const std::string& path, const std::string& other);
  /// Makes a new file that has its name at once, for a tree that is not in use yet. It replaces
  /// what has the name, except a folder, and has mode 0600 until set_mode_and_time().
  [[nodiscard]] int make_file(const std::string& path, UniqueFd& file);
  [[nodiscard]] int set_mode(const SyncEntry& entry);
  [[nodiscard]] int set_mode_and_time(const SyncEntry& entry);
  [[nodiscard]] static int set_mode_and_time(const UniqueFd& file, const SyncEntry& entry);
  /// Removes a folder only if it is empty.
  [[nodiscard]] int remove(const std::string& path, bool is_folder);
  /// Swaps two existing names in one step. EINVAL: the file system does not support it.
  [[nodiscard]] int exchange(const std::string& path, const std::string& other);
  [[nodiscard]] int rename(const std::string& path, const std::string& to);

  /// An incomplete file. The destructor removes it unless finish_file() has named it.
  class NewFile {
   public:
    NewFile() = default;
    NewFile(NewFile&& other) noexcept = default;
    NewFile& operator=(NewFile&& other) noexcept;
    ~NewFile() { discard(); }
    [[nodiscard]] bool is_open() const { return fd_.valid(); }
    [[nodiscard]] int write(std::string_view bytes) const;

   private:
    friend class SyncTree;
    void discard();
    UniqueFd fd_;
    UniqueFd folder_;
    std::string part_;  // temporary name, if the file system has no unnamed files
  };
  [[nodiscard]] int begin_file(const std::string& path, NewFile& file);
  /// Sets the entry's mode and time, and gives the file its name. Replaces what has that name,
  /// except a folder.
  [[nodiscard]] int finish_file(const SyncEntry& entry, NewFile& file);

  /// Opens the part of a file that is being staged: it lies beside its final place, under a name
  /// that a later staging of the same path finds. It is locked (flock(2)) until it is closed.
  /// EWOULDBLOCK: another process holds it. ENOENT, without `make`: there is none.
  [[nodiscard]] int open_part(const std::string& path, bool make, UniqueFd& part);
  /// Like finish_file().
  [[nodiscard]] int finish_part(const SyncEntry& entry, UniqueFd& part);
  [[nodiscard]] int remove_part(const std::string& path);
  /// The name of the part of a file with this name.
  [[nodiscard]] static std::string part_of(const std::string& name);

 private:
  struct Step {
    std::string name;
    UniqueFd fd;
  };
  [[nodiscard]] int folder_of(const std::string& path, std::string& name);
  [[nodiscard]] UniqueFd step_into(int above, const std::string& name) const;
  [[nodiscard]] int move(const std::string& path, const std::string& to, unsigned flags);
  [[nodiscard]] int set(const SyncEntry& entry, bool time);

  UniqueFd root_;
  std::vector<Step> way_;  // open folders from the root to the last path
  bool stays_on_mount_ = false;
  bool unnamed_works_ = true;
};

}  // namespace dlaunch
