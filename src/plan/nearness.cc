#include "plan/nearness.h"

#include <algorithm>
#include <set>
#include <string>

namespace dlaunch {

namespace {

/// Parts that both paths begin with.
std::size_t common_parts(std::string_view a, std::string_view b) {
  std::size_t parts = 0;
  while (!a.empty() && !b.empty()) {
    const std::size_t end_a = a.find('/');
    const std::size_t end_b = b.find('/');
    if (a.substr(0, end_a) != b.substr(0, end_b)) break;
    ++parts;
    a.remove_prefix(end_a == std::string_view::npos ? a.size() : end_a + 1);
    b.remove_prefix(end_b == std::string_view::npos ? b.size() : end_b + 1);
  }
  return parts;
}

bool is_alone_below_its_bridge(std::string_view path) {
  return std::count(path.begin(), path.end(), '/') == 1;
}

}  // namespace

std::string_view name_of(Nearness nearness) {
  switch (nearness) {
    case Nearness::same_switch:
      return "same switch";
    case Nearness::same_root:
      return "same root";
    case Nearness::same_socket:
      return "same socket";
    case Nearness::across:
      return "across sockets";
    case Nearness::unknown:
      break;
  }
  return "unknown";
}

Nearness nearness(std::string_view path_a, int numa_a, std::string_view path_b, int numa_b) {
  const std::size_t common = common_parts(path_a, path_b);
  if (common >= 2) return Nearness::same_switch;
  if (common == 1) return Nearness::same_root;
  if (numa_a < 0 || numa_b < 0) return Nearness::unknown;
  return numa_a == numa_b ? Nearness::same_socket : Nearness::across;
}

Nearness nearness(const GpuFact& gpu, const RdmaDevice& device) {
  return nearness(gpu.pci_path, gpu.numa, device.pci_path, device.numa);
}

bool hides_its_switches(const std::vector<GpuFact>& gpus,
                        const std::vector<const RdmaDevice*>& devices) {
  if (gpus.empty() || devices.empty()) return false;
  std::set<std::string_view> bridges;
  const auto is_alone = [&](std::string_view path) {
    return is_alone_below_its_bridge(path) && bridges.insert(path.substr(0, path.find('/'))).second;
  };
  return std::all_of(gpus.begin(), gpus.end(),
                     [&](const GpuFact& gpu) { return is_alone(gpu.pci_path); }) &&
         std::all_of(devices.begin(), devices.end(),
                     [&](const RdmaDevice* device) { return is_alone(device->pci_path); });
}

}  // namespace dlaunch
