#include <memory>

#include "cli/commands.h"
#include "cli/export_mpirun.h"
#include "cli/print.h"
#include "cli/slurm_job.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch export mpirun job.yaml > job.sh; sh job.sh\n"
    "  dlaunch export mpirun --mpirun mpiexec.hydra -n 8 --hosts a,b -- python train.py\n"
    "  dlaunch export slurm job.yaml --time 2h > job.sh; sbatch job.sh";

struct ExportCommand {
  std::string format;
  std::string mpirun = "mpirun";
  JobOptions job;
  SlurmOptions slurm;

  int execute() const {
    if (format == "mpirun") {
      const auto script = make_mpirun_script(job, mpirun);
      return script ? print_text(*script) : print_error(script.error());
    }
    if (format == "slurm") {
      const auto script = make_slurm_script(job, slurm);
      return script ? print_text(script->text) : print_error(script.error());
    }
    return print_error({exit_code::kUsage, (format.empty() ? std::string("what is to be exported?")
                                                           : '"' + format + "\" is no format") +
                                               "\n         try: dlaunch export mpirun job.yaml, or "
                                               "dlaunch export slurm job.yaml"});
  }
};

}  // namespace

Subcommand export_command(const TrailingArguments& arguments) {
  auto exported = std::make_shared<ExportCommand>();
  exported->job.arguments = arguments;
  const auto describe = [exported](CommandOptions options) {
    options.positional("FORMAT", exported->format,
                       "mpirun or slurm: a script that starts the job with it");
    add_job_options(options, exported->job);
    options.value("--mpirun", exported->mpirun,
                  "Which mpirun or mpiexec, of Open MPI,\nMPICH or Intel MPI (default: mpirun)",
                  "PROGRAM");
    add_slurm_options(options, exported->slurm);
  };
  return {"export", "Print a job as another launcher takes it", kFooter,
          describe, [exported] { return exported->execute(); }, true};
}

}  // namespace dlaunch
