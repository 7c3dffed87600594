// The first job file of a folder: a commented draft from the scripts in the folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"

namespace dlaunch::jobfile {

struct FoundFile {
  std::string name;  // relative to the folder, without folders: "train.sh"; ".venv/bin/activate"
  std::string text;  // may be only its beginning
};

struct DraftInput {
  std::vector<FoundFile> files;      // in any order
  std::vector<std::string> command;  // given on the command line; empty: what the files say
  std::string name;                  // for a job without a name
  std::string file;                  // of the draft, relative to the folder; for comments
  std::string only;                  // the file that starts the job; empty: the best one
};

struct JobDraft {
  std::string text;
  std::vector<std::string> found;  // "train.sh:3: torchrun", the first one is the command
};

/// A job file from what the files say: the launch line of a batch script, of a shell script, of a
/// Dockerfile, or else a training script judged by its name, in this order of preference. Comments
/// say what was found, guessed and left out. Reading the draft (job_reader.h) gives no error.
/// Error (exit_code::kUsage): no file can be started.
[[nodiscard]] Result<JobDraft> draft_job(const DraftInput& input);

/// Whether draft_job() looks into a file of that name.
[[nodiscard]] bool is_draft_source(std::string_view name);

}  // namespace dlaunch::jobfile
