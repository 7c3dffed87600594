#include "cli/machine_facts.h"

#include <cstdlib>

#include <sys/utsname.h>

#include "fabric/fabric_facts.h"
#include "fabric/net.h"
#include "fabric/node_facts.h"
#include "fabric/tree.h"
#include "os/own_machine.h"

namespace dlaunch {

namespace {

std::string environment_value(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
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

}  // namespace dlaunch
