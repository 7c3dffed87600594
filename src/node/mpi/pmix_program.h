// The program dlaunch-pmix, which dlaunch carries inside itself: its file and environment, and
// whether it can run on this machine.
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

/// The program as an executable file in memory. Errors: exit_code::kPreflight if dlaunch was built
/// without it or no such file can be made.
[[nodiscard]] Result<UniqueFd> pmix_program();

/// Our environment without the variables that name another launcher's PMIx server.
[[nodiscard]] std::vector<std::string> pmix_environment();

/// "dlaunch-pmix cannot run: libpmix.so.2 not found; install ...". `said`: what the program or the
/// dynamic linker has written. Pure.
[[nodiscard]] std::string why_no_pmix(std::string_view said);

/// Why this machine cannot serve PMIx; empty: it can. Runs `dlaunch-pmix --probe`, which loads its
/// libraries and starts no server; blocks for at most 10 s. Call only from the main thread.
[[nodiscard]] std::string probe_pmix();

/// Like probe_pmix(), but on an event loop. Lives on the agent's one thread.
class PmixProbe {
 public:
  explicit PmixProbe(EventLoop& loop) : loop_(loop) {}

  /// Calls `done` once with the reason why this machine cannot serve PMIx; empty: it can. Unless
  /// `wanted`, calls it at once, with an empty reason. If another request comes first, `done` is
  /// not called.
  void ask(bool wanted, std::function<void(std::string)> done);

 private:
  EventLoop& loop_;
  UniqueFd program_;
  std::unique_ptr<RunningProgram> running_;
};

}  // namespace dlaunch
