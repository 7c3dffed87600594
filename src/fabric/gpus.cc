#include <algorithm>
#include <array>
#include <charconv>

#include "fabric/node_facts.h"
#include "fabric/tree.h"

namespace dlaunch::fabric {

namespace {

/// domain, bus, device, function of "0000:3b:00.0", all hexadecimal.
using BusAddress = std::array<std::uint32_t, 4>;

std::optional<BusAddress> parse_bus(std::string_view text) {
  BusAddress address{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < address.size(); ++i) {
    const auto [stop, error] = std::from_chars(at, end, address[i], 16);
    if (error != std::errc()) return std::nullopt;
    const bool last = i + 1 == address.size();
    if (last) return stop == end ? std::optional(address) : std::nullopt;
    if (stop == end || *stop != (i == 2 ? '.' : ':')) return std::nullopt;
    at = stop + 1;
  }
  return std::nullopt;
}

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
  BusAddress address;
  GpuFact fact;
};

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

/// nullopt: not one that this process may use.
std::optional<ListedGpu> read_gpu(const Tree& list, const Tree& devices, const Tree& pci,
                                  const std::string& name) {
  const std::optional<BusAddress> address = parse_bus(name);
  const std::optional<std::string> information = list.read(name + "/information");
  if (!address || !information) return std::nullopt;
  const auto minor = parse_number(value_of(*information, "Device Minor"), 65535);
  if (!minor || !devices.usable("nvidia" + std::to_string(*minor))) return std::nullopt;
  // An administrator took it out (NVreg_ExcludedGpus).
  if (value_of(*information, "GPU Excluded") == "Yes") return std::nullopt;
  ListedGpu gpu;
  gpu.address = *address;
  gpu.fact.bus_id = lower_case(name);
  gpu.fact.model = value_of(*information, "Model");
  // Question marks stand in it until the driver has initialised the device once.
  const std::string_view uuid = value_of(*information, "GPU UUID");
  if (uuid.rfind("GPU-", 0) == 0 && uuid.find('?') == std::string_view::npos) gpu.fact.uuid = uuid;
  // -1, and then no number here, where the firmware tells none, as in many virtual machines.
  gpu.fact.numa = pci.read_number(gpu.fact.bus_id + "/numa_node").value_or(-1);
  return gpu;
}

}  // namespace

std::vector<GpuFact> read_gpus(const std::string& root) {
  const Tree list(root + "/proc/driver/nvidia/gpus");
  if (!list.exists()) return {};
  const Tree devices(root + "/dev");
  const Tree pci(root + "/sys/bus/pci/devices");
  std::vector<ListedGpu> gpus;
  for (const std::string& name : list.names()) {
    if (std::optional<ListedGpu> gpu = read_gpu(list, devices, pci, name))
      gpus.push_back(*std::move(gpu));
  }
  // By number: a domain may have more than four digits, and then its name sorts elsewhere.
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
