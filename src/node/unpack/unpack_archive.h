// Unpacks an archive into a folder beside its target, which takes the target's place once
// everything is unpacked and the archive's hash is correct. Until then the target stays as it was.
// If any member would be written elsewhere, the whole archive is refused.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "node/sync/sync_tree.h"
#include "node/unpack/archive_reader.h"
#include "node/unpack/arriving_file.h"
#include "os/unique_fd.h"

namespace dlaunch {

struct UnpackOrder {
  std::string parent;      // the folder that holds the target
  std::string name;        // of the target
  std::int64_t mtime = 0;  // of the archive, for the record
};

/// For one thread of a process that does nothing else: its calls block.
class UnpackArchive {
 public:
  /// `file` must outlive this. `sign` is called repeatedly while it works.
  UnpackArchive(UnpackOrder order, ArrivingFile& file, std::function<void()> sign)
      : order_(std::move(order)), file_(file), reader_(file), sign_(std::move(sign)) {}

  /// Empty: done; else what is wrong with the archive or the file system. Leaves only the target
  /// and its record behind, unless the old target could not be put back.
  [[nodiscard]] std::string run();
  /// Members that are devices, FIFOs or sockets.
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }

 private:
  /// A folder's mode and time, set at the end because the mode may forbid even the owner to write.
  struct Folder {
    std::uint32_t mode = 0;
    std::optional<std::int64_t> mtime{};
  };

  [[nodiscard]] std::string open();
  [[nodiscard]] std::string unpack();
  [[nodiscard]] std::string take(const ArchiveMember& member);
  [[nodiscard]] int make_folders(const std::string& path);
  [[nodiscard]] int make_folder(const std::string& path);
  [[nodiscard]] std::string make_file(const ArchiveMember& member, const std::string& path);
  [[nodiscard]] int set(SyncTree& tree, const std::string& path, const Folder& folder);
  [[nodiscard]] std::string put_in_place();
  [[nodiscard]] int exchange(const std::string& content);

  UnpackOrder order_;
  ArrivingFile& file_;
  ArchiveReader reader_;
  std::function<void()> sign_;
  SyncTree parent_;
  UniqueFd place_;    // the folder in which it is unpacked, locked
  SyncTree content_;  // in it, what becomes the target
  std::map<std::string, Folder> folders_;
  Folder usual_;  // for folders that are not members
  std::uint64_t skipped_ = 0;
  bool holds_old_ = false;  // the old target could not be put back and is still in the place
};

}  // namespace dlaunch
