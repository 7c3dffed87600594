// One record of a staging, and which of the files that it names are still there.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/environment.h"
#include "model/stage.h"
#include "node/sync/sync_record.h"
#include "node/sync/sync_tree.h"

namespace dlaunch {

/// For one thread. Blocks as long as the file system takes.
class StagedPlace {
 public:
  StagedPlace(const Environment& env, const FoundRecord& found);

  /// Whether it is the record of a staging, and its folder is there.
  [[nodiscard]] bool is_staged() const { return is_staged_; }
  [[nodiscard]] StagedTarget& about() { return about_; }
  [[nodiscard]] const StagedTarget& about() const { return about_; }
  /// Counts what is there.
  void look();
  /// Removes what is there, counts it, and says what could not be removed. The caller must have
  /// claimed the target.
  void clean();

 private:
  /// Something that an interrupted staging has left and that no process is writing.
  struct Leftover {
    std::string path;
    bool is_folder = false;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::vector<Leftover> leftovers();
  [[nodiscard]] bool is_left(const std::string& path, Leftover& left);
  void add_left_in(const std::string& folder, bool in_target, std::vector<Leftover>& left);
  void count_bytes(const sync::Found& found);
  [[nodiscard]] bool is_unpacked_here();
  [[nodiscard]] bool is_where_it_was() const;
  void open_folders();
  void restore_modes();
  void clean_leftovers();
  void clean_entries();
  void clean_unpacked();
  void fail(const std::string& path, int error);

  std::string root_;
  SyncRecord record_;
  bool is_staged_ = false;
  StagedTarget about_;
  SyncEntries entries_;
  std::vector<SyncEntry> opened_;  // folders whose mode was changed, with their old modes
  SyncTree tree_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> counted_;  // files with several names
};

}  // namespace dlaunch
