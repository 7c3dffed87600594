// RunEnding: how a run ended, as its summary.json tells those who come later. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/exit_status.h"
#include "model/result.h"

namespace dlaunch {

struct RunEnding {
  std::string run;
  std::string name;
  int exit_code = 0;
  std::string cause;  // a name_of(Cause), or one that a later dlaunch knows
  std::string detail;
  std::string signal;      // when cancelled; empty: its front was gone
  std::string slurm_said;  // why Slurm had sent the signal; empty: not known
  std::chrono::nanoseconds elapsed{0};
  std::uint32_t ranks = 0;  // 0: there was no plan
  std::uint32_t attempt = 0;
  std::optional<std::uint32_t> first;  // the rank that failed first
  std::string first_node;
  std::vector<std::uint32_t> left_early;  // ended with 0; the first then failed without them
  std::string first_error;                // why it could not be started
  std::optional<ExitStatus> first_status;
  struct Lost {
    std::string node;
    std::string what;  // empty: another failure was heard of first
    bool operator==(const Lost&) const = default;
  };
  std::vector<Lost> lost_nodes;
  bool operator==(const RunEnding&) const = default;
};

[[nodiscard]] Result<RunEnding> parse_summary(std::string_view json);

/// "done in 3 min 12 s", "failed after 12.4 s: rank 5 on node1 exited with code 7",
/// "stopped by SIGTERM after 2.0 s". Safe for a terminal.
[[nodiscard]] std::string ending_text(const RunEnding& ending);

/// The same in at most 12 columns, for a table: "0", "7, rank 5", "143 SIGTERM", "124 limit".
[[nodiscard]] std::string ending_code(const RunEnding& ending);

}  // namespace dlaunch
