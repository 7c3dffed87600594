#include "cli/gpu_health.h"

#include <algorithm>
#include <chrono>

#include "fabric/gpu_health.h"
#include "os/kernel_log.h"
#include "os/program_output.h"
#include "report/plain_text.h"

namespace dlaunch {

namespace {

Result<std::string> ask(std::vector<std::string> arguments) {
  constexpr std::chrono::seconds kLimit{10};
  arguments.insert(arguments.begin(), "nvidia-smi");
  return program_output(arguments, kLimit);
}

std::string first_line(const std::string& text) {
  constexpr std::size_t kColumns = 160;
  return cut_to_columns(plain_line(text.substr(0, text.find('\n'))), kColumns);
}

void add_health(MachineInfo& info) {
  auto answer = ask(fabric::gpu_query(false));
  if (answer) info.health = fabric::parse_gpu_query(*answer);
  if (answer && info.health.empty()) {
    answer = ask(fabric::gpu_query(true));
    if (answer) info.health = fabric::parse_gpu_query(*answer);
  }
  if (!answer) {
    info.no_health = answer.error().message;
    return;
  }
  if (info.health.empty()) {
    info.no_health =
        answer->empty() ? "nvidia-smi says nothing" : "nvidia-smi says: " + first_line(*answer);
    return;
  }
  if (const auto rows = ask(fabric::remapped_rows_query()))
    fabric::add_remapped_rows(*rows, info.health);
  if (const auto processes = ask(fabric::gpu_processes_query()))
    fabric::add_gpu_processes(*processes, info.health);
  for (const GpuHealth& gpu : info.health) info.findings.push_back(fabric::health_findings(gpu));
}

}  // namespace

void add_gpu_health(MachineInfo& info) {
  if (info.facts.gpus.empty()) {
    info.no_health = "there is no GPU to ask";
    info.no_faults = info.no_health;
    return;
  }
  add_health(info);
  const auto log = read_kernel_log("NVRM: Xid");
  if (log) {
    info.faults = fabric::parse_xids(*log);
  } else {
    info.no_faults = log.error().message;
  }
}

}  // namespace dlaunch
