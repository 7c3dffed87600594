#include <memory>

#include "cli/commands.h"
#include "cli/load_job.h"
#include "cli/print.h"
#include "cli/slurm_options.h"
#include "launch/mpi/mpirun_script.h"
#include "os/own_machine.h"

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
  SlurmRequest slurm;

  int execute() const {
    if (format == "mpirun") {
      const auto script = make_script_for_mpirun();
      return script ? print_text(*script) : print_error(script.error());
    }
    if (format == "slurm") {
      const auto script = make_slurm_script(job, slurm);
      return script ? print_text(script->text) : print_error(script.error());
    }
    return print_error({exit_code::kUsage, (format.empty() ? std::string("no format given")
                                                           : "unknown format \"" + format + '"') +
                                               "\n         try: dlaunch export mpirun job.yaml, or "
                                               "dlaunch export slurm job.yaml"});
  }

 private:
  [[nodiscard]] Result<std::string> make_script_for_mpirun() const {
    const auto folder = current_folder();
    if (!folder) return tl::unexpected(folder.error());
    auto loaded = load_job(job, *folder);
    if (!loaded) return tl::unexpected(loaded.error());
    if (const Status hosts = resolve_job_hosts(job, true, *loaded); !hosts)
      return tl::unexpected(hosts.error());
    return make_mpirun_script(loaded->spec, *folder, mpirun);
  }
};

}  // namespace

Subcommand export_command(const TrailingArguments& arguments) {
  auto exported = std::make_shared<ExportCommand>();
  exported->job.arguments = arguments;
  const auto describe = [exported](CommandOptions options) {
    options.positional("FORMAT", exported->format,
                       "Launcher that the script uses: mpirun or slurm");
    add_job_options(options, exported->job);
    options.value("--mpirun", exported->mpirun,
                  "Which mpirun or mpiexec, of Open MPI,\nMPICH or Intel MPI (default: mpirun)",
                  "PROGRAM");
    add_slurm_options(options, exported->slurm);
  };
  return {"export", "Print a job as a script for another launcher", kFooter,
          describe, [exported] { return exported->execute(); },     true};
}

}  // namespace dlaunch
