#include <chrono>
#include <memory>

#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "fabric/azure_sizes.h"
#include "measure/info/inspect_machine.h"
#include "measure/info/machine_info.h"
#include "text/json_text.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch info                               GPUs, InfiniBand, RoCE and network of this "
    "machine\n"
    "  dlaunch info --json                        the same for tools\n"
    "  dlaunch info --azure-size Standard_NC24r   what that name says about InfiniBand\n"
    "  dlaunch info --root /tmp/copy              a machine whose /sys, /proc and /dev were "
    "copied there";

// nvidia-smi hangs when a GPU has fallen off the bus.
constexpr std::chrono::seconds kHealthLimit{40};

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
        return print_error(Error{exit_code::kUsage, "--root: no such folder: " + *root});
      }
      if (info.root == "/") info.root.clear();
    }
    read_machine(info);
    if (info.root.empty()) {
      add_gpu_health(info, kHealthLimit);
    } else {
      info.no_health = "--root reads files only";
      info.no_faults = info.no_health;
    }
    return print_text(json ? info_json(info) : info_text(info));
  }

 private:
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
    options.value("--root", info->root, "A folder to read instead of /", "DIR");
    options.value("--azure-size", info->azure_size,
                  "Show only what this name of an Azure VM size says\nabout InfiniBand", "NAME");
    options.exclude("--azure-size", "--root");
  };
  return {"info", "Show what this machine has: GPUs, InfiniBand, RoCE, network", kFooter, describe,
          [info] { return info->execute(); }};
}

}  // namespace dlaunch
