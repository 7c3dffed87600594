#include "cli/commands.h"
#include "cli/print.h"
#include "measure/run/collectives_program.h"
#include "measure/speed/local_speed.h"

namespace dlaunch {

int speed_command() {
  // The NCCL program has the CUDA runtime, which dlaunch itself lacks; it returns where it cannot
  // run.
  constexpr MeasureBackend kWithGpus = MeasureBackend::nccl;
  if (is_built_in(kWithGpus)) {
    const auto code = run_collectives(kWithGpus, {"speed"});
    if (!code) print_error(code.error());
    if (code && *code == exit_code::kOk) return exit_code::kOk;
  }
  return print_text(speed::to_json(speed::measure_local()));
}

}  // namespace dlaunch
