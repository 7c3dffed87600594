// What the program can measure. A mode is one file and one row of the table in mode.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collectives/program/team.h"
#include "collectives/program/watchdog.h"
#include "measure/record.h"
#include "measure/settings.h"

namespace dlaunch::collectives {

struct Context {
  Team& team;
  const measure::Settings& settings;
  Watchdog& watchdog;
  std::vector<std::string> hosts{};  // index = rank
};

/// At the program's start, before any library writes: stdout becomes a private descriptor of the
/// records, and what anybody else prints there (NCCL and UCX log to stdout) goes to stderr.
void keep_stdout_for_records();

/// Writes a record to what was stdout, at once, where this is rank 0; else nothing.
void write(const Context& context, const measure::Record& record);

/// Every rank runs it. A failure ends the job, with its words on stderr.
using Mode = Status (*)(Context& context);

/// Null: there is none of this name.
[[nodiscard]] Mode mode_named(std::string_view name);

/// Of the mode "bench": an operation at a series of sizes.
[[nodiscard]] Status bench_mode(Context& context);
/// Of the mode "pairs": send_recv between every two ranks.
[[nodiscard]] Status pairs_mode(Context& context);

/// Of the mode "check": nodes and links that are slower than the others.
[[nodiscard]] Status check_mode(Context& context);

/// Of the mode "alone": one rank, whose all_reduce is a copy.
[[nodiscard]] Status alone_mode(Context& context);

}  // namespace dlaunch::collectives
