#include <memory>

#include "cli/commands.h"
#include "cli/export_mpirun.h"
#include "cli/print.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch export mpirun job.yaml > job.sh; sh job.sh\n"
    "  dlaunch export mpirun --mpirun mpiexec.hydra -n 8 --hosts a,b -- python train.py";

struct ExportCommand {
  std::string format;
  std::string mpirun = "mpirun";
  JobOptions job;

  int execute() const {
    if (format != "mpirun") {
      return print_error(
          {exit_code::kUsage, (format.empty() ? std::string("what is to be exported?")
                                              : '"' + format + "\" is no format") +
                                  "\n         try: dlaunch export mpirun job.yaml"});
    }
    const auto script = make_mpirun_script(job, mpirun);
    return script ? print_text(*script) : print_error(script.error());
  }
};

}  // namespace

Subcommand export_command(const TrailingArguments& arguments) {
  auto exported = std::make_shared<ExportCommand>();
  exported->job.arguments = arguments;
  const auto describe = [exported](CommandOptions options) {
    options.positional("FORMAT", exported->format, "mpirun: a script that starts the job with it");
    add_job_options(options, exported->job);
    options.value("--mpirun", exported->mpirun,
                  "Which mpirun or mpiexec, of Open MPI,\nMPICH or Intel MPI (default: mpirun)",
                  "PROGRAM");
  };
  return {"export", "Print a job as another launcher takes it", kFooter, describe,
          [exported] { return exported->execute(); }};
}

}  // namespace dlaunch
