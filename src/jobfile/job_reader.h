// Reads and validates job files: the public interface of this room.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// "--input NAME=VALUE" or "--output NAME=DIR".
struct NamedValue {
  std::string name;
  std::string value;
  std::string origin;  // as typed, for errors
};

/// Command-line options for job files of other systems.
struct DialectOptions {
  std::vector<NamedValue> inputs;
  std::vector<NamedValue> outputs;
  std::string step;            // for a file with several steps; empty: not given
  NamedValue module;           // --module: a Python module to run; `origin` is empty: not given
  NamedValue package;          // --package-path: the module's package folder; `origin` as above
  bool no_container = false;   // leave out the file's images, without a note
  std::string folder;          // of the job file, absolute: base of its relative paths
  std::string current_folder;  // absolute: base of relative paths on the command line
  /// Reads files that the job file names; empty: they cannot be read.
  std::function<Result<std::string>(const std::string& path)> read_file;
};

/// A setting from the command line; takes precedence over the file.
struct Override {
  std::string key;     // dotted: "restart.max"
  std::string value;   // YAML text: "3", "[a, b]", "none"; for text fields the text itself (see
                       // jobfile/overrides.h)
  std::string origin;  // what the user typed, for errors: "--set restart.max=3", "-n 4"
};

struct JobInput {
  std::optional<std::string>
      text;          // contents of the job file; nullopt: no file (`dlaunch run -n 4 -- CMD`)
  std::string file;  // its name as typed, for errors
  std::vector<Override> overrides;  // for the same key the last one counts
  /// Words after "--". They are appended to the command, shell-quoted if the command is a string.
  /// Without a command they become the command.
  std::vector<std::string> arguments;
  /// Top-level keys of the file that are not read; overrides of these keys still apply.
  std::vector<std::string> ignored = {};
  /// For job files of other systems.
  DialectOptions foreign = {};
  /// The name in JobReading::native if the job has none.
  std::string default_name = {};
};

struct JobReading {
  JobSpec spec;
  /// The keys of JobInput::ignored that the file contains, in file order.
  std::vector<std::string> left_out;
  /// Settings of another system's job file that dlaunch ignores or handles differently; one
  /// sentence each.
  std::vector<std::string> notes;
  /// The Azure VM size that the file names, as written: "Standard_NC24rs_v3"; empty: none.
  std::string azure_size;
  /// The job as a native job file, including the settings of the command line, its name, and an
  /// absolute workdir (except in containers) and hostfile. Reading it gives the same job. Empty if
  /// an argument is not UTF-8.
  std::string native;
};

/// Reads and checks a job file, native or of another system (dialects/). One Error with exit code
/// 65 holds all errors, sorted by position, each as FILE:LINE:COLUMN: error: MESSAGE (or ORIGIN:
/// error: MESSAGE) with the source line and a caret. Pure and thread-safe. In the result, roles
/// have at least one process and are in rank order (chief, worker, ps, evaluator); `name` is empty
/// if a file gives none. With framework tensorflow and no `roles`, every rank is a worker and
/// `roles` stays empty.
[[nodiscard]] Result<JobReading> read_any_job(const JobInput& input);

/// The same, returning only the job.
[[nodiscard]] Result<JobSpec> read_job(const JobInput& input);

/// The job as a native job file, including the settings of the command line, with the notes as
/// comments. `name`: for a job without one. Reading the file gives the same job. Errors: those of
/// read_any_job(), and an argument that is not UTF-8.
[[nodiscard]] Result<std::string> native_job_text(const JobInput& input, const std::string& name);

}  // namespace dlaunch
