// run.json: what a run records about itself at its start (RunRecord), and the lock that shows that
// its engine lives (RunPresence). docs/reference/run-folder.md has the members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "model/job_spec.h"
#include "model/result.h"
#include "model/time.h"
#include "os/own_machine.h"
#include "os/process_identity.h"
#include "os/unique_fd.h"
#include "runs/run_directory.h"

namespace dlaunch {

/// `text` as a JSON object; nullopt if it is not one. Its members are untrusted: one that is
/// missing or of another type counts as empty.
[[nodiscard]] std::optional<nlohmann::json> parse_json_object(std::string_view text);

[[nodiscard]] std::string json_string(const nlohmann::json& object, const char* name);
[[nodiscard]] std::optional<std::int64_t> json_number(const nlohmann::json& object,
                                                      const char* name);
[[nodiscard]] bool json_boolean(const nlohmann::json& object, const char* name);

/// run.json. It leaves out the command line except for the name of the job file: the job and its
/// arguments are in job.yaml.
struct RunRecord {
  std::string run;       // its id
  std::string name;      // of the job; may be empty
  std::string job_file;  // as typed; empty: the job came from the command line
  std::string folder;    // where dlaunch was started; absolute
  std::string host;
  std::string boot_id;
  ProcessIdentity engine;
  ProcessIdentity front;
  std::uint32_t user = 0;  // number of the user
  WallTime started{};
  Duration stop_grace{};  // timeouts.stop
  std::string slurm_job;  // the Slurm job that it runs in; empty: none
  bool detached = false;
  bool locked = false;  // the engine locks kAliveByte while it lives
  bool operator==(const RunRecord&) const = default;
};

/// Bytes of run.json that the engine locks (os/files.h): while it lives, and while it ends its
/// ranks.
inline constexpr std::int64_t kAliveByte = 0;
inline constexpr std::int64_t kStoppingByte = 1;

[[nodiscard]] std::string run_record_json(const RunRecord& record);

/// Errors: not JSON, an unknown version, members that are missing or wrong.
[[nodiscard]] Result<RunRecord> parse_run_record(std::string_view json);

/// The engine's lock on run.json. The kernel releases it when the engine ends, however that
/// happens.
class RunPresence {
 public:
  /// Writes run.json (0600), locked before it becomes visible. `record.locked` is filled in here.
  [[nodiscard]] static Result<RunPresence> announce(const RunDirectory& folder, RunRecord record);

  /// Tells other processes, by a lock, whether the ranks are being ended.
  void set_stopping(bool stopping);

 private:
  explicit RunPresence(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace dlaunch
