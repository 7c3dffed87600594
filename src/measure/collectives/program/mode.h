// The modes of the program: each is a file and a row of the table in mode.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/collectives/program/team.h"
#include "measure/collectives/program/watchdog.h"
#include "measure/figures/record.h"
#include "measure/figures/settings.h"

namespace dlaunch::collectives {

struct Context {
  Team& team;
  const measure::Settings& settings;
  Watchdog& watchdog;
  std::vector<std::string> hosts{};  // index = rank
};

/// Call before any library writes: keeps stdout as a private descriptor for the records, and sends
/// everything else that is printed to stdout (NCCL and UCX log there) to stderr.
void keep_stdout_for_records();

/// Writes a record to the original stdout, unbuffered, at rank 0; else does nothing.
void write(const Context& context, const measure::Record& record);

/// Runs at every rank. A failure ends the job, with its message on stderr.
using Mode = Status (*)(Context& context);

/// Null: unknown.
[[nodiscard]] Mode mode_named(std::string_view name);

/// The mode "bench": an operation at a series of sizes.
[[nodiscard]] Status bench_mode(Context& context);
/// The mode "pairs": send_recv between every two ranks.
[[nodiscard]] Status pairs_mode(Context& context);

/// The mode "check": finds nodes and links that are slower than the others.
[[nodiscard]] Status check_mode(Context& context);

/// The mode "alone": a single rank, whose all_reduce is a copy.
[[nodiscard]] Status alone_mode(Context& context);

}  // namespace dlaunch::collectives
