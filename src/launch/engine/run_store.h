// The run folder as the engine writes it: the record of the run, events.jsonl, job.yaml, plan.json,
// the times of output from other nodes, summary.json. docs/reference/run-folder.md describes them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "launch/engine/run_request.h"
#include "model/action.h"
#include "model/event.h"
#include "model/launch_plan.h"
#include "os/clock.h"
#include "os/event_loop.h"
#include "os/program_output.h"
#include "runs/event_log.h"
#include "runs/run_directory.h"
#include "runs/run_record.h"
#include "text/output_times.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the engine's one thread. If a file cannot be written, the run goes on and the user is
/// told.
class RunStore {
 public:
  using Say = std::function<void(const std::string& line)>;
  RunStore(EventLoop& loop, const RunOptions& options, Say say);

  /// Makes the folder and its files before anything runs. Call once; before that, only is_open()
  /// has a meaning.
  [[nodiscard]] Status open();
  [[nodiscard]] bool is_open() const { return folder_.has_value(); }
  [[nodiscard]] const RunDirectory& folder() const { return *folder_; }
  /// The folder's path as the user would type it.
  [[nodiscard]] const std::string& shown_path() const { return shown_path_; }
  [[nodiscard]] Status begin_attempt(Attempt attempt);
  /// The folder of the attempt begun last; empty: there was none.
  [[nodiscard]] const std::string& attempt_folder() const { return attempt_folder_; }

  /// Adds a line to events.jsonl.
  template <class What>
  void record(const What& what) {
    if (events_) events_->add(what, wall_now());
  }
  /// `more`: writes further members of the line.
  void note(std::string_view kind, std::string_view text,
            const std::function<void(JsonText&)>& more = {});
  /// Writes the lines that have waited long enough. Returns when to call again; nullopt: no
  /// line waits.
  std::optional<MonotonicTime> write_due();
  /// Records for `dlaunch runs` and `stop` whether the ranks are being ended.
  void set_stopping(bool stopping);

  /// Writes a file of the run folder, whole or not at all. False: it cannot be written.
  bool write(std::string_view name, std::string_view text);
  void write_plan(const LaunchPlan& plan);
  /// Notes that this part of a remote rank's stream has arrived now; agents record the times of
  /// local ranks' output.
  void note_time(const wire::OutputData& data);
  /// No more output of this attempt will arrive.
  void end_output();
  void write_summary(const std::string& json);
  /// Writes all lines of events.jsonl.
  [[nodiscard]] Status flush();

 private:
  void announce();
  void write_job_record();
  void ask_git();
  void write_times();

  const RunOptions& options_;
  EventLoop& loop_;
  Say say_;
  MonotonicTime began_;
  std::optional<RunDirectory> folder_;
  std::string shown_path_;
  std::string attempt_folder_;
  std::optional<EventLog> events_;
  std::optional<RunPresence> presence_;
  OutputTimesWriter times_;
  Timer write_times_;
  bool times_wait_ = false;
  std::optional<RunOrigin> origin_;  // once there is a plan
  Timer ask_git_;
  std::unique_ptr<RunningProgram> git_;
};

}  // namespace dlaunch
