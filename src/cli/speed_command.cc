#include "cli/speed_command.h"

#include "cli/collectives_rank.h"
#include "cli/print.h"
#include "speed/local_speed.h"

namespace dlaunch {

bool is_speed_command(const std::vector<std::string>& words) {
  return words.size() == 1 && words.front() == "speed";
}

int speed_command() {
  // With the CUDA runtime, which dlaunch itself has not; it returns where it cannot run here.
  constexpr MeasureBackend kWithGpus = MeasureBackend::nccl;
  if (is_built_in(kWithGpus) && run_collectives(kWithGpus, {"speed"}) == exit_code::kOk)
    return exit_code::kOk;
  return print_text(speed::to_json(speed::measure_local()));
}

}  // namespace dlaunch
