// The workdir of a node as a sync writes it: paths below one folder, which nothing leads out of. No
// component of a path is followed when it is a symbolic link, whoever has put it there and when; a
// file has its name only when it is whole.
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
  /// Opens the folder, by way of links if its path has some; with `make`, makes what is missing of
  /// it.
  [[nodiscard]] int open(const std::string& root, bool make);
  /// Whether files may be made in it.
  [[nodiscard]] int check_writable() const;
  /// A plain name in the folder itself.
  [[nodiscard]] bool has(const std::string& name) const;
  /// Bytes free for this user; nothing is known: the largest number.
  [[nodiscard]] std::uint64_t room() const;

  /// Nothing: also below what is no folder. Sizes and times of files only.
  [[nodiscard]] sync::Found look(const std::string& path);
  [[nodiscard]] UniqueFd open_file(const std::string& path);
  /// With permission to enter and write, until set_mode().
  [[nodiscard]] int make_folder(const std::string& path);
  [[nodiscard]] int make_link(const std::string& path, const std::string& target);
  [[nodiscard]] int set_mode(const SyncEntry& entry);
  [[nodiscard]] int set_mode_and_time(const SyncEntry& entry);
  /// A folder only if it is empty.
  [[nodiscard]] int remove(const std::string& path, bool is_folder);

  /// A file on its way. It is gone when this goes, unless it was given its name.
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
    std::string part_;  // its name meanwhile, where the file system has no files without one
  };
  [[nodiscard]] int begin_file(const std::string& path, NewFile& file);
  /// Mode and time of the entry, and its name: what had it is replaced, unless it is a folder.
  [[nodiscard]] int finish_file(const SyncEntry& entry, NewFile& file);

 private:
  struct Step {
    std::string name;
    UniqueFd fd;
  };
  [[nodiscard]] int folder_of(const std::string& path, std::string& name);
  [[nodiscard]] int set(const SyncEntry& entry, bool time);

  UniqueFd root_;
  std::vector<Step> way_;  // the open folders from the root to the last path's
  bool unnamed_works_ = true;
};

}  // namespace dlaunch
