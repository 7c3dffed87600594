#include <algorithm>

#include "fabric/node_facts.h"
#include "fabric/pci.h"
#include "fabric/text.h"
#include "fabric/tree.h"
#include "text/strings.h"

namespace dlaunch::fabric {

namespace {

/// Value of the line "Key: \t value"; empty if there is none.
std::string_view value_of(std::string_view information, std::string_view key) {
  while (!information.empty()) {
    const std::size_t newline = information.find('\n');
    const std::string_view line = information.substr(0, newline);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key) {
      return trimmed(line.substr(colon + 1));
    }
    if (newline == std::string_view::npos) break;
    information.remove_prefix(newline + 1);
  }
  return {};
}

struct ListedGpu {
  PciAddress address;
  GpuFact fact;
};

/// nullopt: not a GPU that this process may use.
std::optional<ListedGpu> read_gpu(const Tree& list, const Tree& devices, const PciTree& pci,
                                  const std::string& name) {
  const std::optional<PciAddress> address = parse_pci_address(name);
  const std::optional<std::string> information = list.read(name + "/information");
  if (!address || !information) return std::nullopt;
  const auto minor = parse_number(value_of(*information, "Device Minor"), 65535);
  if (!minor || !devices.usable("nvidia" + std::to_string(*minor))) return std::nullopt;
  // Excluded by an administrator (NVreg_ExcludedGpus).
  if (value_of(*information, "GPU Excluded") == "Yes") return std::nullopt;
  ListedGpu gpu;
  gpu.address = *address;
  gpu.fact.bus_id = lower(name);
  gpu.fact.model = plain_or_empty(value_of(*information, "Model"));
  // It contains question marks until the driver has initialised the device once.
  const std::string_view uuid = value_of(*information, "GPU UUID");
  if (uuid.rfind("GPU-", 0) == 0 && uuid.find('?') == std::string_view::npos)
    gpu.fact.uuid = plain_or_empty(uuid, 64);
  gpu.fact.numa = pci.numa(gpu.fact.bus_id);
  gpu.fact.pci_path = pci.path(gpu.fact.bus_id);
  return gpu;
}

}  // namespace

std::vector<GpuFact> read_gpus(const std::string& root) {
  const Tree list(root + "/proc/driver/nvidia/gpus");
  if (!list.exists()) return {};
  const Tree devices(root + "/dev");
  const PciTree pci(root);
  std::vector<ListedGpu> gpus;
  for (const std::string& name : list.names()) {
    if (std::optional<ListedGpu> gpu = read_gpu(list, devices, pci, name))
      gpus.push_back(*std::move(gpu));
  }
  // By number: a domain may have more than four digits, which changes the order of names.
  std::sort(gpus.begin(), gpus.end(),
            [](const ListedGpu& a, const ListedGpu& b) { return a.address < b.address; });
  std::vector<GpuFact> facts;
  for (ListedGpu& gpu : gpus) {
    gpu.fact.index = static_cast<int>(facts.size());
    facts.push_back(std::move(gpu.fact));
  }
  return facts;
}

}  // namespace dlaunch::fabric
