#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/print.h"
#include "measure/run/collectives_program.h"
#include "measure/speed/local_speed.h"

namespace dlaunch {

namespace {

constexpr std::array<std::pair<MeasureBackend, const char*>, 2> kBackends{
    {{MeasureBackend::mpi, "mpi"}, {MeasureBackend::nccl, "nccl"}}};

std::string on_one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_not_of(" \n", at), text.size());
    text.replace(at, end - at, " ");
  }
  return text;
}

int probe() {
  std::string text;
  for (const auto& [backend, name] : kBackends) {
    const auto library = probe_collectives(backend);
    text += std::string(name) + ": " +
            (library ? "ready, " + *library : on_one_line(library.error().message)) + '\n';
  }
  return print_text(text);
}

}  // namespace

int collectives_command(const std::vector<std::string>& words) {
  if (words.size() == 2 && words[1] == "--probe") return probe();
  if (words.size() >= 4 && words[1] == "--backend") {
    for (const auto& [backend, name] : kBackends) {
      if (words[2] != name) continue;
      const auto code = run_collectives(backend, {words.begin() + 1, words.end()});
      return code ? *code : print_error(code.error());
    }
  }
  return print_error(
      {exit_code::kUsage, "dlaunch starts dlaunch collectives itself: try dlaunch bench"});
}

int speed_command() {
  // The NCCL program has the CUDA runtime, which dlaunch itself lacks; it returns if it cannot
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
