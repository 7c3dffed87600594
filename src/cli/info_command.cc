#include <cstdlib>
#include <memory>

#include <sys/stat.h>
#include <sys/utsname.h>

#include "cli/commands.h"
#include "cli/gpu_health.h"
#include "cli/print.h"
#include "fabric/azure_sizes.h"
#include "fabric/fabric_facts.h"
#include "fabric/net.h"
#include "fabric/node_facts.h"
#include "fabric/tree.h"
#include "os/own_machine.h"
#include "report/machine_info.h"
#include "text/json_text.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch info                               GPUs, InfiniBand, RoCE and network of this "
    "machine\n"
    "  dlaunch info --json                        the same for tools\n"
    "  dlaunch info --azure-size Standard_NC24r   what the name of a size says\n"
    "  dlaunch info --root /tmp/copy              of a machine whose /sys, /proc and /dev were "
    "copied";

struct InfoCommand {
  bool json = false;
  std::optional<std::string> root;
  std::optional<std::string> azure_size;

  int execute() const {
    if (azure_size) return show_size();
    MachineInfo info;
    if (root) {
      info.root = *root;
      while (info.root.size() > 1 && info.root.ends_with('/')) info.root.pop_back();
      struct stat folder {};
      if (::stat(info.root.c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode)) {
        return print_error(Error{exit_code::kUsage, "--root: there is no folder \"" + *root + '"'});
      }
      if (info.root == "/") info.root.clear();
    }
    read_facts(info);
    if (info.root.empty()) {
      add_gpu_health(info);
    } else {
      info.no_health = "a folder cannot be asked";
      info.no_faults = info.no_health;
    }
    return print_text(json ? info_json(info) : info_text(info));
  }

 private:
  static void read_facts(MachineInfo& info) {
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

  static std::string environment_value(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
  }

  int show_size() const {
    const auto size = fabric::azure_size(*azure_size);
    if (!size) return print_error(size.error());
    std::string out;
    if (json) {
      JsonText text(out);
      text.begin_object().key("format").number(1).key("name").string(size->name);
      text.key("has_rdma").boolean(size->has_rdma).key("has_sriov").boolean(size->has_sriov);
      text.key("says").string(size->says).end_object();
    } else {
      append_wrapped(out, size->name + "  ", "  ", size->says);
    }
    return print_text(out);
  }
};

}  // namespace

Subcommand info_command() {
  auto info = std::make_shared<InfoCommand>();
  const auto describe = [info](CommandOptions options) {
    options.flag("--json", info->json, "As JSON");
    options.value("--root", info->root, "The folder that stands for the machine's /", "DIR");
    options.value("--azure-size", info->azure_size,
                  "Only what this name of an Azure VM size says about\nInfiniBand", "NAME");
    options.exclude("--azure-size", "--root");
  };
  return {"info", "Show what this machine has: GPUs, InfiniBand, RoCE, network", kFooter, describe,
          [info] { return info->execute(); }};
}

}  // namespace dlaunch
