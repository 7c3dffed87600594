#include "node/facts.h"

#include <algorithm>
#include <cstdlib>

#include <sys/utsname.h>
#include <unistd.h>

#include "fabric/fabric_facts.h"
#include "fabric/mca_settings.h"
#include "fabric/net.h"
#include "fabric/node_facts.h"
#include "node/ranks/carried_environment.h"
#include "os/own_machine.h"

namespace dlaunch {

namespace {

std::string environment_value(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// The requested settings from Open MPI's files on this node.
Environment mca_settings(const wire::FactsRequest& request) {
  const auto is_mca = [](const std::string& name) { return name.starts_with("OMPI_MCA_"); };
  if (std::none_of(request.variables.begin(), request.variables.end(), is_mca)) return {};
  const Environment environment =
      carried_environment(environment_from_block(environ), request.carried, "/", folder_exists);
  Environment settings = fabric::read_mca_settings("", fabric::mca_files(environment));
  std::erase_if(settings, [&](const auto& setting) {
    const auto& wanted = request.variables;
    return std::find(wanted.begin(), wanted.end(), setting.first) == wanted.end();
  });
  return settings;
}

}  // namespace

NodeFacts FactsService::gather(const wire::FactsRequest& request) {
  NodeFacts facts;
  utsname system{};
  ::uname(&system);
  facts.hostname = system.nodename;
  facts.architecture = system.machine;
  facts.kernel = system.release;
  facts.memory_bytes = fabric::read_memory_bytes("");
  facts.memory_available_bytes = fabric::read_available_memory_bytes("");
  facts.cores = fabric::read_cores("", allowed_cpus(0));
  mark_taken(facts.cores);
  facts.gpus = fabric::read_gpus("");
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
    facts.cuda_visible_devices = visible;
  facts.rdma_devices = fabric::read_rdma_devices("");
  if (request.network) {
    facts.interfaces = fabric::read_interfaces("", fabric::read_address_rows());
    // The job's env may name another file (NCCL_CONF_FILE); in that case plan/rank_table sets
    // nothing.
    facts.fabric = fabric::read_fabric(
        "", facts.gpus,
        fabric::user_nccl_file(environment_value("NCCL_CONF_FILE"), environment_value("HOME")));
  }
  facts.limits = own_limits();
  facts.user_id = ::geteuid();
  for (const std::string& name : request.variables) {
    if (const char* value = std::getenv(name.c_str())) facts.environment[name] = value;
  }
  facts.mca_settings = mca_settings(request);
  reserve(request, facts);
  return facts;
}

void FactsService::reserve(const wire::FactsRequest& request, NodeFacts& facts) {
  ports_.clear();
  for (const std::uint16_t wanted : request.fixed_ports) {
    auto port = reserve_port(wanted);
    if (port) {
      ports_.emplace(wanted, std::move(*port));
      facts.reserved_ports.push_back(wanted);
    } else {
      facts.taken_ports.push_back(port.error());
    }
  }
  for (std::uint32_t i = 0; i < request.ports; ++i) {
    auto port = reserve_new_port();
    if (!port) break;  // the plan reports that there are too few
    const std::uint16_t number = port->number();
    facts.reserved_ports.push_back(number);
    ports_.emplace(number, std::move(*port));
  }
}

/// Avoids ports of earlier attempts: connections to them may still be in TIME_WAIT, or be retried.
Result<ReservedPort> FactsService::reserve_new_port() {
  constexpr int kTries = 16;
  std::vector<ReservedPort> again;
  for (int i = 0; i < kTries; ++i) {
    auto port = reserve_free_port();
    if (!port) break;
    if (given_.insert(port->number()).second) return port;
    again.push_back(std::move(*port));  // held for now, so it is not found again
  }
  if (!again.empty()) return std::move(again.front());
  return reserve_free_port();
}

void FactsService::mark_taken(std::vector<CpuCore>& cores) {
  if (!locks_) {
    auto opened = CoreLocks::open();
    if (opened) locks_ = std::move(*opened);
    no_locks_ = opened ? "" : opened.error().message;
  }
  if (!locks_) return;
  std::vector<int> cpus;
  cpus.reserve(cores.size());
  for (const CpuCore& core : cores) cpus.push_back(core.threads.front());
  const std::vector<int> taken = locks_->taken(cpus);
  for (CpuCore& core : cores) {
    for (const int cpu : taken) core.taken = core.taken || cpu == core.threads.front();
  }
}

void FactsService::release_port(std::uint16_t port) {
  ports_.erase(port);
}

ReservedPort* FactsService::held_port(std::uint16_t port) {
  const auto held = ports_.find(port);
  return held == ports_.end() ? nullptr : &held->second;
}

FactsService::Cores FactsService::lock_cores(const std::vector<int>& cpus) {
  // Without locks, assume that this run is alone, which is the likelier case.
  if (!locks_)
    return {true,
            "dlaunch cannot see which cores other runs use; ranks may share them: " + no_locks_};
  if (locks_->try_lock(cpus)) return {};
  return {false, "another run took the planned cores first: ranks are not bound"};
}

void FactsService::unlock_cores() {
  if (locks_) locks_->unlock_all();
}

}  // namespace dlaunch
