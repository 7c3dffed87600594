#include "measure/info/inspect_machine.h"

#include <algorithm>
#include <cstdlib>

#include <sys/utsname.h>

#include "fabric/fabric_facts.h"
#include "fabric/gpu_health_report.h"
#include "fabric/net.h"
#include "fabric/node_facts.h"
#include "fabric/nvlink.h"
#include "fabric/tree.h"
#include "os/clock.h"
#include "os/kernel_log.h"
#include "os/own_machine.h"
#include "os/program_output.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

std::string environment_value(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// Calls of nvidia-smi: each has a limit, and all share another.
class Smi {
 public:
  explicit Smi(std::chrono::seconds limit) : end_(monotonic_now() + limit) {}

  Result<std::string> ask(std::vector<std::string> arguments) const {
    constexpr std::chrono::milliseconds kLimit{10'000};
    constexpr std::chrono::milliseconds kLeast{100};  // a shorter call would only be killed
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - monotonic_now());
    if (left < kLeast) return fail(exit_code::kTimeLimit, "nvidia-smi took too long");
    arguments.insert(arguments.begin(), "nvidia-smi");
    return program_output(arguments, std::min(kLimit, left));
  }

 private:
  MonotonicTime end_;
};

std::string quoted_line(const std::string& text) {
  constexpr std::size_t kColumns = 160;
  return cut_to_columns(plain_line(first_line(text)), kColumns);
}

void add_health(MachineInfo& info, const Smi& smi) {
  auto answer = smi.ask(fabric::gpu_query(false));
  if (answer) info.health = fabric::parse_gpu_query(*answer);
  if (answer && info.health.empty()) {
    answer = smi.ask(fabric::gpu_query(true));
    if (answer) info.health = fabric::parse_gpu_query(*answer);
  }
  if (!answer) {
    info.no_health = answer.error().message;
    info.health_hangs = answer.error().exit_code == exit_code::kTimeLimit;
    return;
  }
  if (info.health.empty()) {
    info.health_fails = true;
    info.no_health = answer->empty() ? "nvidia-smi printed nothing"
                                     : "nvidia-smi printed: " + quoted_line(*answer);
    return;
  }
  if (const auto rows = smi.ask(fabric::remapped_rows_query()))
    fabric::add_remapped_rows(*rows, info.health);
  if (const auto processes = smi.ask(fabric::gpu_processes_query()))
    fabric::add_gpu_processes(*processes, info.health);
  if (const auto links = smi.ask(fabric::nvlink_query())) fabric::add_nvlinks(*links, info.health);
  info.findings = fabric::nvlink_findings(info.health, info.facts.fabric.nvswitches);
  const bool cap_is_meant = !fabric::common_power_cap(info.health).empty();
  for (std::size_t i = 0; i < info.health.size(); ++i) {
    // Worst first: findings about memory are worse than findings about links.
    std::vector<std::string> all = fabric::health_findings(info.health[i], cap_is_meant);
    all.insert(all.end(), info.findings[i].begin(), info.findings[i].end());
    info.findings[i] = std::move(all);
  }
}

}  // namespace

void read_machine(MachineInfo& info) {
  NodeFacts& facts = info.facts;
  const std::string& at = info.root;
  facts.memory_bytes = fabric::read_memory_bytes(at);
  facts.memory_available_bytes = fabric::read_available_memory_bytes(at);
  facts.gpus = fabric::read_gpus(at);
  facts.rdma_devices = fabric::read_rdma_devices(at);
  std::string nccl_file;
  if (at.empty()) {
    utsname system{};
    ::uname(&system);
    facts.hostname = system.nodename;
    facts.architecture = system.machine;
    facts.kernel = system.release;
    facts.cores = fabric::read_cores(at, allowed_cpus(0));
    facts.interfaces = fabric::read_interfaces(at, fabric::read_address_rows());
    facts.limits = own_limits();
    nccl_file =
        fabric::user_nccl_file(environment_value("NCCL_CONF_FILE"), environment_value("HOME"));
  } else {
    const auto online = fabric::Tree(at + "/sys/devices/system/cpu").read("online");
    facts.cores = fabric::read_cores(at, fabric::parse_cpu_list(online.value_or("")));
  }
  facts.fabric = fabric::read_fabric(at, facts.gpus, nccl_file);
}

void add_gpu_health(MachineInfo& info, std::chrono::seconds limit) {
  if (info.facts.gpus.empty()) {
    info.no_health = "there is no GPU to query";
    info.no_faults = info.no_health;
    return;
  }
  add_health(info, Smi(limit));
  const auto log = read_kernel_log("NVRM: Xid");
  if (log) {
    info.faults = fabric::parse_xids(*log);
  } else {
    info.no_faults = log.error().message;
  }
}

}  // namespace dlaunch
