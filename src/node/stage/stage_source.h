// What `stage` copies, on the machine that has the files: the list of files, and their blocks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "model/result.h"
#include "model/stage.h"
#include "node/stage/environment_needs.h"
#include "node/sync/entry_file.h"
#include "node/sync/folder_marker.h"
#include "node/sync/workdir_list.h"
#include "sync/blocks.h"

namespace dlaunch {

class StageSource {
 public:
  /// `what`: the beginning of each error, such as "stage: ".
  StageSource(std::vector<StageItem> items, std::string what)
      : items_(std::move(items)), what_(std::move(what)) {}

  /// How a folder is listed.
  [[nodiscard]] static WorkdirListSettings folder_settings(const StageItem& item,
                                                           const std::string& what);

  /// Reads some of the folders. True: the list is complete, or there is an error.
  [[nodiscard]] bool list_some();
  /// After list_some() has returned true. Errors: exit_code::kJobFile if the job must change,
  /// kPreflight if something cannot be read.
  [[nodiscard]] const Status& status() const { return status_; }

  /// Folders on the nodes, by index as in StageEntry.
  [[nodiscard]] const std::vector<std::string>& roots() const { return roots_; }
  /// The origin of each root, with markers that exist until unmark(). `removes` is false for a
  /// file, for an empty folder, and for a target that lies in another target or contains one.
  [[nodiscard]] std::vector<StageOrigin> origins(const std::string& machine) const;
  void unmark() { markers_.clear(); }
  /// The paths on the nodes, by item.
  [[nodiscard]] const std::vector<std::string>& targets() const { return targets_; }
  [[nodiscard]] const std::vector<StageEntry>& entries() const { return entries_; }
  /// Reads files again to find out what staged environments need.
  [[nodiscard]] StagedEnvironments environments() const;
  [[nodiscard]] const sync::BlockMap& map() const { return map_; }
  [[nodiscard]] const SyncExtent& extent() const { return extent_; }
  [[nodiscard]] const std::vector<std::string>& special() const { return special_; }

  /// A file that is open for reading blocks.
  struct Reader {
    std::uint32_t entry = 0;
    EntryFile file;
  };
  /// Appends the bytes of a block. Returns what is wrong with its file; empty if nothing is.
  [[nodiscard]] std::string read(std::uint64_t block, Reader& reader, std::string& bytes);
  /// Whether read() found a file that is not as it was listed.
  [[nodiscard]] bool has_changed() const { return has_changed_; }

 private:
  void begin_item(const StageItem& item);
  [[nodiscard]] std::string problem_of(const StageItem& item, bool is_file,
                                       const std::string& to) const;
  void add_file(const StageItem& item, const std::string& to, const struct stat& info);
  void end_folder();
  void add_folder(std::map<std::size_t, std::size_t> names,
                  const std::map<std::size_t, std::uint64_t>& holes,
                  std::vector<SyncEntry> entries);
  void add(StageEntry at);
  void fail(int code, std::string message);
  void mark(const std::string& folder, bool is_same_path);
  [[nodiscard]] bool touches_other(std::size_t root) const;
  [[nodiscard]] std::string source_of(std::uint32_t entry) const;

  std::vector<StageItem> items_;
  std::string what_;
  std::size_t next_ = 0;
  Status status_;
  std::optional<WorkdirLister> lister_;
  std::vector<std::string> targets_;  // by item
  std::vector<std::string> roots_;
  std::vector<std::string> sources_;  // by root: the folder, or the file itself
  std::vector<bool> is_file_;         // by root
  std::vector<StageOrigin> origins_;  // by root, without names
  std::vector<FolderMarker> markers_;  // likewise
  std::vector<StageEntry> entries_;
  sync::BlockMap map_;
  SyncExtent extent_;
  std::vector<std::string> special_;
  bool has_changed_ = false;
};

}  // namespace dlaunch
