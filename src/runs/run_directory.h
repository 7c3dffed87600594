// RunDirectory: the folder of one run; docs/reference/run-folder.md describes its layout.
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
  /// Creates <base>/<id> with mode 0700, parents as needed. If that fails (no permission,
  /// read-only, full), creates <state_base>/<id>, and fell_back() is true. Two runs never get the
  /// same folder: if the id is taken, `clock` (wall-clock time) is read again.
  static Result<RunDirectory> create(const std::string& base, const std::string& state_base,
                                     const std::function<WallTime()>& clock);

  /// An existing run folder.
  static RunDirectory existing(const std::string& path);

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const std::string& path() const { return path_; }  // absolute
  [[nodiscard]] bool fell_back() const { return fell_back_; }
  /// Why, when fell_back(): "create runs/...: Permission denied".
  [[nodiscard]] const std::string& fallback_reason() const { return fallback_reason_; }

  /// Writes a file of mode 0600 whole or not at all: to a temporary name, then renamed.
  Status write(std::string_view name, std::string_view text) const;
  /// Creates "attempt-<k>" (0700), which may exist already, and returns its absolute path.
  Result<std::string> make_attempt_folder(Attempt attempt) const;

  /// Writes stacks/TIME.json: where ranks stood then.
  Status write_stacks(WallTime at, std::string_view json) const;

  /// Reserves space for write_last(), in an unnamed file, because the ranks may fill up the disk.
  /// If that is impossible, nothing happens.
  void reserve_room();
  /// Like write(), into the reserved space, the rest of which is then free for other files.
  Status write_last(std::string_view name, std::string_view text);

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
/// XDG_STATE_HOME that is not absolute is ignored (XDG Base Directory Specification).
[[nodiscard]] std::string default_state_folder(const Environment& env);

}  // namespace dlaunch
