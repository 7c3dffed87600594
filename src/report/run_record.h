// RunRecord: what a run says about itself at its start, in run.json; docs/run-directory.md has the
// members. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/job_spec.h"
#include "model/result.h"
#include "model/time.h"
#include "os/process_identity.h"

namespace dlaunch {

/// No word of the command line but the job file's name: the job and its arguments are in job.yaml.
struct RunRecord {
  std::string run;       // its id
  std::string name;      // of the job; may be empty
  std::string job_file;  // as typed; empty: the job came from the command line
  std::string folder;    // in which dlaunch was started; absolute
  std::string host;
  std::string boot_id;
  ProcessIdentity engine;
  ProcessIdentity front;
  std::uint32_t user = 0;  // number of the user
  WallTime started{};
  Duration stop_grace{};  // timeouts.stop
  std::string slurm_job;  // whose allocation it runs in; empty: none
  bool detached = false;
  bool locked = false;  // the engine holds the lock of byte kAliveByte while it lives
  bool operator==(const RunRecord&) const = default;
};

/// Bytes of run.json that the engine locks (os/file_lock.h): as long as it lives, and while it is
/// ending its ranks.
inline constexpr std::int64_t kAliveByte = 0;
inline constexpr std::int64_t kStoppingByte = 1;

[[nodiscard]] std::string run_record_json(const RunRecord& record);

/// Errors: no JSON, a version that this dlaunch does not know, members that are missing or wrong.
[[nodiscard]] Result<RunRecord> parse_run_record(std::string_view json);

/// The time of time_text(), "2026-11-20T21:01:42.123456Z"; a fraction may be missing.
[[nodiscard]] Result<WallTime> parse_time(std::string_view text);

}  // namespace dlaunch
