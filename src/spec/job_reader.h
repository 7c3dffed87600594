// Text -> JobSpec: the door of this layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/job_spec.h"
#include "model/result.h"
#include "spec/foreign_input.h"

namespace dlaunch {

/// A setting from the command line; wins over the file.
struct Override {
  std::string key;     // dotted: "restart.max"
  std::string value;   // YAML text: "3", "[a, b]", "none"; where a text is wanted, the text (see
                       // spec/overrides.h)
  std::string origin;  // what the user typed, for errors: "--set restart.max=3", "-n 4"
};

struct JobInput {
  std::optional<std::string>
      text;          // contents of the job file; nullopt: no file (`dlaunch run -n 4 -- CMD`)
  std::string file;  // its name as the user typed it, for errors
  std::vector<Override> overrides;  // of two for the same key the last one wins
  /// After "--": appended to the command (shell-quoted if that is a string); without one they are
  /// it.
  std::vector<std::string> arguments;
  /// Keys at the top of the file that are not read, whatever they hold; overrides still are.
  std::vector<std::string> ignored = {};
  /// For job files of other systems.
  ForeignInput foreign = {};
  /// The name for jobs without one, for JobReading::native.
  std::string default_name = {};
};

struct JobReading {
  JobSpec spec;
  /// Those of JobInput::ignored that the file has, in its order.
  std::vector<std::string> left_out;
  /// What a job file of another system says that dlaunch does otherwise, or not; sentences.
  std::vector<std::string> notes;
  /// The VM size that such a file names, as it stands there: "Standard_NC24rs_v3"; empty: none.
  std::string azure_size;
  /// The job as a native job file, with everything that the command line has set, its name, and its
  /// workdir below foreign.current_folder (outside of containers). Reading it gives the same job.
  /// Empty where an argument is not UTF-8.
  std::string native;
};

/// Reads and checks a job file, native or of another system (spec/dialects/). All errors come in
/// one Error with exit code 65, by position, each as FILE:LINE:COLUMN: error: MESSAGE (or ORIGIN:
/// error: MESSAGE), the line and a caret. Pure and thread-safe. In the result, roles have at least
/// one process and are in rank order (chief, worker, ps, evaluator); `name` is empty if there is a
/// file that gives none. Without `roles`, framework tensorflow means that every rank is a worker,
/// and `roles` stays empty.
[[nodiscard]] Result<JobReading> read_any_job(const JobInput& input);

/// Likewise, without the rest.
[[nodiscard]] Result<JobSpec> read_job(const JobInput& input);

/// The job as a native job file, with everything that the command line has set, and the notes as
/// comments. `name`: for a job that has none. Reading it gives the same job. Errors: as above, and
/// for an argument that is not UTF-8.
[[nodiscard]] Result<std::string> native_job_text(const JobInput& input, const std::string& name);

}  // namespace dlaunch
