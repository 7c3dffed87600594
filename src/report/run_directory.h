// RunDirectory: the folder in which everything about one run is kept; docs/run-directory.md is its
// layout.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "model/environment.h"
#include "model/ids.h"
#include "model/result.h"
#include "model/time.h"
#include "os/unique_fd.h"

namespace dlaunch {

class RunDirectory {
 public:
  /// Creates <base>/<id> with mode 0700, parents as needed. When that cannot be done there (no
  /// right, read-only, full): <state_base>/<id>, and fell_back() is true. Two runs never get the
  /// same folder: when the id is taken, `clock` (wall-clock time) is asked again.
  static Result<RunDirectory> create(const std::string& base, const std::string& state_base,
                                     const std::function<WallTime()>& clock);

  /// The folder of a run that exists already.
  static RunDirectory existing(const std::string& path);

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const std::string& path() const { return path_; }  // absolute
  [[nodiscard]] bool fell_back() const { return fell_back_; }
  /// Why, when fell_back(): "create runs/...: Permission denied".
  [[nodiscard]] const std::string& fallback_reason() const { return fallback_reason_; }

  /// Writes a file of mode 0600 whole or not at all: to a temporary name, then renamed.
  Status write(std::string_view name, std::string_view text) const;
  /// Creates "attempt-<k>" (0700) and gives its absolute path; it may exist already.
  Result<std::string> make_attempt_folder(Attempt attempt) const;

  /// Keeps room for summary.json and the like on a disk that the ranks may fill up, in a file
  /// without a name; where that cannot be had, nothing happens.
  void reserve_room();
  void release_room() { room_.reset(); }

 private:
  RunDirectory(std::string id, std::string path) : id_(std::move(id)), path_(std::move(path)) {}
  static Result<RunDirectory> create_in(const std::string& base,
                                        const std::function<WallTime()>& clock);

  std::string id_;
  std::string path_;
  bool fell_back_ = false;
  std::string fallback_reason_;
  UniqueFd room_;
};

/// "YYYYMMDD-HHMMSS-xyz" in UTC; xyz is the fraction of the second in units of 1/46656 s (about 21
/// microseconds) as three base-36 digits, so that ids sort by time.
[[nodiscard]] std::string make_run_id(WallTime time);

/// $XDG_STATE_HOME/dlaunch/runs, else $HOME/.local/state/dlaunch/runs; empty without either. An
/// XDG_STATE_HOME that is not absolute is ignored, as the XDG Base Directory Specification wants
/// it.
[[nodiscard]] std::string default_state_folder(const Environment& env);

}  // namespace dlaunch
