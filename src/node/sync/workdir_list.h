// Which files of the launcher's workdir a sync copies: all except what .gitignore files exclude,
// git's own data, run folders, and dlaunch's own files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "model/result.h"
#include "model/sync.h"
#include "os/unique_fd.h"
#include "sync/gitignore.h"

namespace dlaunch {

struct WorkdirListSettings {
  std::string root;      // absolute
  std::string run_base;  // absolute: the folder of run folders (logs.dir); empty: none
  std::string home;      // the user's; a sync never copies it as a whole
  std::uint64_t most_files = 0;
  std::uint64_t most_bytes = 0;
  /// The folder itself was named, as by `stage`: it may be any folder, and .gitignore files have no
  /// effect. If it has too many files, the error says to pack them into one.
  bool is_named = false;
  std::string what = "sync: ";  // begins each error
  std::vector<std::string> exclude{};  // further patterns, as in a .gitignore file in `root`
};

/// Reads the tree in pieces, so that the caller can do other things in between.
class WorkdirLister {
 public:
  explicit WorkdirLister(WorkdirListSettings settings);
  WorkdirLister(WorkdirLister&&) = default;
  ~WorkdirLister();

  /// Reads about `names` names. True: the list is complete, or there is an error.
  [[nodiscard]] bool step(std::size_t names = 512);
  /// After step() has returned true. Errors: exit_code::kJobFile if the workdir must not be copied
  /// (too large, the home folder, /), with what to do; kPreflight if something cannot be read.
  [[nodiscard]] const Status& status() const { return status_; }
  /// The entries: each folder before its content, and the names in a folder sorted by their bytes.
  [[nodiscard]] std::vector<SyncEntry> take() { return std::move(entries_); }
  /// Of a named folder, by index of an entry: the index of the next name (hard link) of the same
  /// file in the list.
  [[nodiscard]] const std::map<std::size_t, std::size_t>& next_names() const { return next_names_; }
  /// Of a named folder, by index of a sparse file: StageEntry::holes.
  [[nodiscard]] const std::map<std::size_t, std::uint64_t>& holes() const { return holes_; }
  /// In a named folder, the content of a file with several names counts once.
  [[nodiscard]] SyncExtent extent() const { return extent_; }
  /// Entries left out because they are neither files, folders nor links.
  [[nodiscard]] const std::vector<std::string>& special() const { return special_; }

 private:
  struct Level {
    UniqueFd fd;
    std::string path;  // "" or as "a/b/"
    std::vector<std::string> names;
    std::size_t next = 0;
    bool holds_runs = false;
    bool has_rules = false;
  };

  void begin();
  void enter_rules_above();
  void enter_rules(std::string folder, const std::string& file);
  void open(UniqueFd fd, std::string path);
  void look_at(const Level& level, const std::string& name);
  void look_at_file(const Level& level, const std::string& name, const struct stat& info,
                    SyncEntry entry);
  void add(SyncEntry entry, std::uint64_t bytes = 0);
  [[nodiscard]] bool is_run(const Level& level, const std::string& name) const;
  void check_limits(bool all);
  void fail(int code, std::string message);

  WorkdirListSettings settings_;
  Status status_;
  bool begun_ = false;
  std::string prefix_;  // path of the root in its git repository: "" or "a/b/"
  sync::IgnoreRules rules_;
  sync::IgnoreRules excluded_;  // WorkdirListSettings::exclude
  std::vector<Level> levels_;
  std::vector<SyncEntry> entries_;
  std::map<std::pair<dev_t, ino_t>, std::size_t> last_names_;  // files that have several names
  std::map<std::size_t, std::size_t> next_names_;
  std::map<std::size_t, std::uint64_t> holes_;
  SyncExtent extent_;
  std::uint64_t counted_ = 0;                   // entries of all kinds
  std::map<std::string, std::uint64_t> sizes_;  // by first component; folders end with '/'
  std::vector<std::string> special_;
};

}  // namespace dlaunch
