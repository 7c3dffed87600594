// The program dlaunch-pmix, which dlaunch carries inside itself: its file, its environment, what it
// says when it cannot run, and whether it can.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"
#include "os/event_loop.h"
#include "os/program_output.h"
#include "os/unique_fd.h"

namespace dlaunch {

inline constexpr const char* kPmixProgram = "dlaunch-pmix";

/// A file in memory that can be executed. Errors: exit_code::kPreflight, dlaunch was built without
/// it, or no such file can be made.
[[nodiscard]] Result<UniqueFd> pmix_program();

/// As which it is executed; also by children in which descriptors close with the exec.
[[nodiscard]] std::string path_of(const UniqueFd& program);

/// Ours, without what another launcher has told its own ranks of its PMIx server.
[[nodiscard]] std::vector<std::string> pmix_environment();

/// "dlaunch-pmix cannot run: libpmix.so.2 not found; install ...". `said`: what it, or the dynamic
/// linker for it, has written. Pure.
[[nodiscard]] std::string why_no_pmix(std::string_view said);

/// Whether a node can serve PMIx: `dlaunch-pmix --probe`, which loads its libraries and starts no
/// server. Lives on the agent's one thread.
class PmixQuestion {
 public:
  explicit PmixQuestion(EventLoop& loop) : loop_(loop) {}

  /// Calls `done` once, with why it cannot, empty when it can; at once unless `wanted`. Not if
  /// another question comes before.
  void ask(bool wanted, std::function<void(std::string)> done);

 private:
  EventLoop& loop_;
  UniqueFd program_;
  std::unique_ptr<RunningProgram> running_;
};

}  // namespace dlaunch
