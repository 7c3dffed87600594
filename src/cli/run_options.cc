#include "cli/run_options.h"

#include <utility>

#include "launch/front/terminal_prompt.h"

extern char** environ;

namespace dlaunch {

RunOptions run_options(LoadedJob job, const std::string& folder) {
  RunOptions options;
  options.spec = std::move(job.spec);
  options.record = std::move(job.record);
  options.job_file = std::move(job.file);
  options.current_folder = folder;
  options.environment = environment_from_block(environ);
  options.slurm_end = job.slurm_end;
  options.may_ask = can_ask_on_terminal();
  return options;
}

}  // namespace dlaunch
