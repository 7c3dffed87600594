#include "fabric/fabric_facts.h"

#include "fabric/pci.h"
#include "fabric/rdma.h"
#include "fabric/tree.h"
#include "text/strings.h"

namespace dlaunch::fabric {

namespace {

/// Why there is no RDMA device, in one line.
std::string why_no_rdma(const std::string& root, const PciInventory& pci) {
  const bool has_class = Tree(root + "/sys/class/infiniband").exists();
  if (!pci.rdma_cards.empty()) {
    const std::string card = PciTree(root).network_card(pci.rdma_cards.front());
    return (card.empty() ? "an InfiniBand card" : "a " + card) + " is on the PCI bus (" +
           pci.rdma_cards.front() + "), but there is no RDMA device: " +
           (has_class ? "its driver (mlx5_ib) is not bound to it"
                      : "its driver (mlx5_ib) is not loaded, or this is a container that does not "
                        "see it");
  }
  if (has_class) return "the InfiniBand driver is loaded, but has no device";
  if (!Tree(root + "/sys").exists()) return "/sys is not mounted here, so nothing is known";
  return "no RDMA device: /sys/class/infiniband does not exist, and there is no RDMA card on the "
         "PCI bus";
}

/// Why there are no GPUs, in one line.
std::string why_no_gpus(const std::string& root, const PciInventory& pci) {
  const std::size_t listed = Tree(root + "/proc/driver/nvidia/gpus").names().size();
  if (listed > 0) {
    return "the driver lists " + counted(listed, "GPU") +
           ", but this process cannot open any (/dev/nvidia0, ...): a container without GPUs?";
  }
  if (!pci.nvidia_gpus.empty()) {
    return counted(pci.nvidia_gpus.size(), "NVIDIA GPU") +
           " on the PCI bus, but the driver is not loaded (no /proc/driver/nvidia)";
  }
  return "no NVIDIA GPU on the PCI bus, and no driver";
}

/// "NVRM version: NVIDIA UNIX x86_64 Kernel Module 550.54.15 Tue Mar ...": returns the first word
/// that begins with a digit and contains a point. Source: NVIDIA driver README, "The /proc
/// Interface".
std::string driver_version(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!word.empty() && word.front() >= '0' && word.front() <= '9' &&
        word.find('.') != std::string_view::npos)
      return plain_or_empty(word, 32);
    if (space == std::string_view::npos) break;
    text.remove_prefix(space + 1);
  }
  return {};
}

Environment nccl_settings(const std::string& root, const std::string& user_file) {
  Environment settings;
  const std::size_t slash = user_file.rfind('/');
  if (slash != std::string::npos && slash + 1 < user_file.size()) {
    const Tree folder(user_file.substr(0, slash + 1));
    add_nccl_settings(folder.read(user_file.substr(slash + 1)).value_or(""), settings);
  }
  add_nccl_settings(Tree(root + "/etc").read("nccl.conf").value_or(""), settings);
  const std::string topology(kDefaultTopologyFile);
  if (Tree(root + "/").has(topology.substr(1))) settings.emplace("NCCL_TOPO_FILE", topology);
  return settings;
}

}  // namespace

std::string user_nccl_file(const std::string& conf_file, const std::string& home) {
  if (!conf_file.empty()) return conf_file;
  return home.empty() ? std::string() : home + "/.nccl.conf";
}

void add_nccl_settings(const std::string& text, Environment& settings) {
  constexpr std::size_t kMost = 256;
  std::string_view rest = text;
  while (!rest.empty() && settings.size() < kMost) {
    std::string_view line = take_line(rest);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t equals = line.find('=');
    if (!line.starts_with("NCCL_") || equals == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1);
    const bool is_plain =
        is_device_name(name) && plain_or_empty(value, 1023).size() == value.size();
    if (is_plain) settings.emplace(name, value);
  }
}

FabricFacts read_fabric(const std::string& root, const std::vector<GpuFact>& gpus,
                        const std::string& nccl_file) {
  FabricFacts facts;
  Oddities oddities;
  const PciInventory pci = read_pci_inventory(root);
  facts.rdma = read_rdma(root, oddities);
  if (facts.rdma.empty()) facts.no_rdma = why_no_rdma(root, pci);
  facts.nics = read_nics(root);
  const std::string version = Tree(root + "/proc/driver/nvidia").read("version").value_or("");
  facts.gpu_driver = driver_version(version);
  if (gpus.empty()) facts.no_gpus = why_no_gpus(root, pci);
  facts.nvswitches = pci.nvswitches;
  const Tree modules(root + "/sys/module");
  facts.peer_memory = modules.has("nvidia_peermem") || modules.has("nv_peer_mem");
  facts.nccl_settings = nccl_settings(root, nccl_file);
  facts.oddities = oddities.take();
  return facts;
}

}  // namespace dlaunch::fabric
