// RunPresence: the engine's sign of life in its run folder, run.json and the lock on it. The lock
// ends with the engine, however that dies, so nobody needs to clean up.
#pragma once

#include <string>

#include "os/unique_fd.h"
#include "report/run_directory.h"
#include "report/run_record.h"

namespace dlaunch {

class RunPresence {
 public:
  /// Writes run.json (0600), locked before anybody can see it. `record.locked` is filled in here.
  [[nodiscard]] static Result<RunPresence> announce(const RunDirectory& folder, RunRecord record);

  /// Whether the ranks are being ended, for those who look.
  void set_stopping(bool stopping);

 private:
  explicit RunPresence(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace dlaunch
