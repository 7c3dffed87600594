#include <cstdio>
#include <memory>

#include <sys/wait.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/slurm_options.h"
#include "launch/connect/connectors/srun.h"
#include "os/program_output.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kSubmitLimit{60};
constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch submit job.yaml --partition gpu --time 2h --gpus-per-node 8\n"
    "  dlaunch submit --nnodes 4 --nproc-per-node 8 -t 30m -- python train.py\n"
    "  dlaunch export slurm job.yaml --time 2h > job.sh     look at it first; sbatch job.sh\n"
    "\n"
    "Prints the number of the Slurm job. Its output is in slurm-NUMBER.out here,\n"
    "the ranks' in runs/. dlaunch runs shows the state.";

struct SubmitCommand {
  JobOptions job;
  SlurmRequest slurm;

  int execute() const {
    const auto script = make_slurm_script(job, slurm);
    if (!script) return print_error(script.error());
    const auto answer = run_program(
        {.argv = {"sbatch", "--parsable"}, .limit = kSubmitLimit, .input = script->text});
    if (!answer) return print_error({exit_code::kNodeLost, answer.error().message});
    if (!answer->succeeded()) {
      return print_error(
          {exit_code::kNodeLost, "Slurm refused the job: " + words_of_slurm(answer->errors)});
    }
    // "17" or "17;cluster"
    const std::string id = answer->out.substr(0, answer->out.find_first_of(";\n"));
    std::fprintf(stderr, "dlaunch: submitted %s as Slurm job %s; to see it: dlaunch runs\n",
                 plain_line(script->name).c_str(), id.c_str());
    std::fprintf(stderr, "                   to end it: scancel %s\n", id.c_str());
    return print_text(id + '\n');
  }
};

}  // namespace

Subcommand submit_command(const TrailingArguments& arguments) {
  auto submit = std::make_shared<SubmitCommand>();
  submit->job.arguments = arguments;
  const auto describe = [submit](const CommandOptions& options) {
    add_job_options(options, submit->job);
    add_slurm_options(options, submit->slurm);
  };
  return {"submit",
          "Submit a job to Slurm (sbatch), which starts it later",
          kFooter,
          describe,
          [submit] { return submit->execute(); },
          true};
}

}  // namespace dlaunch
