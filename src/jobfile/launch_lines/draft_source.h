// How a folder becomes a job: which of its files starts the ranks, and what the others say.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/launch_lines/job_draft.h"
#include "jobfile/launch_lines/launch_script.h"

namespace dlaunch::jobfile {

/// A way to start the job.
struct DraftSource {
  std::string where;      // "train.sh:3"
  LaunchScript script;    // `line` is set
  bool is_guess = false;  // a training script, judged by its name
};

/// All ways to start the job, best first.
[[nodiscard]] std::vector<DraftSource> draft_sources(const DraftInput& input);

/// The framework that the program uses, judged by its launcher and imports; empty: PyTorch, or not
/// known. `why`: "those of mpirun", "train.py imports jax".
struct FrameworkFound {
  std::string name;
  std::string why;
};
[[nodiscard]] FrameworkFound framework_of(const DraftInput& input, const LaunchLine& line);

/// The file of that name; null: no such file.
[[nodiscard]] const FoundFile* file_named(const DraftInput& input, std::string_view name);

}  // namespace dlaunch::jobfile
