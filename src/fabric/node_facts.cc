#include "fabric/node_facts.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "fabric/pci.h"
#include "fabric/tree.h"
#include "text/strings.h"

namespace dlaunch::fabric {

namespace {

/// Indexed by CPU number up to the largest allowed one.
struct CpuTable {
  std::vector<char> usable;  // allowed, online, and in no core yet
  std::vector<int> numa;

  [[nodiscard]] bool has(int cpu) const {
    return cpu >= 0 && static_cast<std::size_t>(cpu) < usable.size();
  }
  [[nodiscard]] bool take(int cpu) {
    if (!has(cpu) || usable[static_cast<std::size_t>(cpu)] == 0) return false;
    usable[static_cast<std::size_t>(cpu)] = 0;
    return true;
  }
};

std::vector<int> usable_cpus(const Tree& cpu_folder, const std::vector<int>& allowed) {
  std::vector<int> cpus;
  std::copy_if(allowed.begin(), allowed.end(), std::back_inserter(cpus),
               [](int cpu) { return cpu >= 0; });
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  const std::optional<std::string> text = cpu_folder.read("online");
  const std::vector<int> online = text ? parse_cpu_list(*text) : std::vector<int>();
  if (online.empty()) return cpus;
  std::vector<int> both;
  std::set_intersection(cpus.begin(), cpus.end(), online.begin(), online.end(),
                        std::back_inserter(both));
  return both;
}

/// The number in "node12"; nullopt for "online", "possible", ...
std::optional<int> node_number(const std::string& name) {
  constexpr std::string_view kPrefix = "node";
  if (name.rfind(kPrefix, 0) != 0) return std::nullopt;
  return parse_number(std::string_view(name).substr(kPrefix.size()), 65535);
}

void read_numa(const std::string& root, CpuTable& table) {
  const Tree nodes(root + "/sys/devices/system/node");
  for (const std::string& name : nodes.names()) {
    const std::optional<int> number = node_number(name);
    if (!number) continue;
    const std::optional<std::string> list = nodes.read(name + "/cpulist");
    if (!list) continue;
    for (const int cpu : parse_cpu_list(*list)) {
      if (table.has(cpu)) table.numa[static_cast<std::size_t>(cpu)] = *number;
    }
  }
}

/// Hardware threads that share the CPU's core, itself among them.
std::vector<int> siblings(const Tree& cpu_folder, int cpu) {
  const std::string topology = "cpu" + std::to_string(cpu) + "/topology/";
  // core_cpus_list exists since Linux 5.3; the other name is deprecated.
  std::optional<std::string> list = cpu_folder.read(topology + "core_cpus_list");
  if (!list) list = cpu_folder.read(topology + "thread_siblings_list");
  if (!list) return {cpu};
  std::vector<int> threads = parse_cpu_list(*list);
  if (!std::binary_search(threads.begin(), threads.end(), cpu)) return {cpu};
  return threads;
}

constexpr int kMaxCpu = 65535;

std::uint64_t read_meminfo(const std::string& root, std::string_view key_with_colon) {
  const std::optional<std::string> text = Tree(root + "/proc").read("meminfo");
  if (!text) return 0;
  const std::size_t key = text->find(key_with_colon);
  if (key == std::string::npos || (key != 0 && (*text)[key - 1] != '\n')) return 0;
  const std::string_view value =
      trimmed(std::string_view(*text).substr(key + key_with_colon.size(), 64));
  std::uint64_t kibibytes = 0;  // proc(5) writes "kB" and means 1024
  const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), kibibytes);
  return error == std::errc() ? kibibytes * 1024 : 0;
}

/// Value of the line "Key: \t value"; empty if there is none.
std::string_view value_of(std::string_view information, std::string_view key) {
  while (!information.empty()) {
    const std::string_view line = take_line(information);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key) {
      return trimmed(line.substr(colon + 1));
    }
  }
  return {};
}

struct ListedGpu {
  PciAddress address;
  GpuFact fact;
};

/// nullopt: `name` is not a GPU that this process may use.
std::optional<ListedGpu> read_gpu(const Tree& list, const Tree& devices, const PciTree& pci,
                                  const std::string& name) {
  const std::optional<PciAddress> address = parse_pci_address(name);
  const std::optional<std::string> information = list.read(name + "/information");
  if (!address || !information) return std::nullopt;
  const auto minor = parse_number(value_of(*information, "Device Minor"), 65535);
  if (!minor || !devices.usable("nvidia" + std::to_string(*minor))) return std::nullopt;
  // An administrator has excluded the GPU (NVreg_ExcludedGpus).
  if (value_of(*information, "GPU Excluded") == "Yes") return std::nullopt;
  ListedGpu gpu;
  gpu.address = *address;
  gpu.fact.bus_id = lower(name);
  gpu.fact.model = plain_or_empty(value_of(*information, "Model"));
  // The UUID contains question marks until the driver has initialised the device once.
  const std::string_view uuid = value_of(*information, "GPU UUID");
  if (uuid.rfind("GPU-", 0) == 0 && uuid.find('?') == std::string_view::npos)
    gpu.fact.uuid = plain_or_empty(uuid, 64);
  gpu.fact.numa = pci.numa(gpu.fact.bus_id);
  gpu.fact.pci_path = pci.path(gpu.fact.bus_id);
  return gpu;
}

}  // namespace

std::vector<CpuCore> read_cores(const std::string& root, const std::vector<int>& allowed_cpus) {
  const Tree cpu_folder(root + "/sys/devices/system/cpu");
  const std::vector<int> cpus = usable_cpus(cpu_folder, allowed_cpus);
  if (cpus.empty()) return {};
  CpuTable table;
  table.usable.resize(static_cast<std::size_t>(cpus.back()) + 1);
  table.numa.resize(table.usable.size());
  for (const int cpu : cpus) table.usable[static_cast<std::size_t>(cpu)] = 1;
  read_numa(root, table);

  std::vector<CpuCore> cores;
  for (const int cpu : cpus) {
    if (table.usable[static_cast<std::size_t>(cpu)] == 0) continue;  // read with its first thread
    CpuCore core;
    core.numa = table.numa[static_cast<std::size_t>(cpu)];
    for (const int thread : siblings(cpu_folder, cpu)) {
      if (table.take(thread)) core.threads.push_back(thread);
    }
    cores.push_back(std::move(core));
  }
  std::sort(cores.begin(), cores.end(), [](const CpuCore& a, const CpuCore& b) {
    return std::tuple(a.numa, a.threads.front()) < std::tuple(b.numa, b.threads.front());
  });
  return cores;
}

std::vector<int> parse_cpu_list(std::string_view text) {
  text = trimmed(text);
  std::vector<int> cpus;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    const std::size_t dash = range.find('-');
    const auto first = parse_number(range.substr(0, dash), kMaxCpu);
    const auto last =
        dash == std::string_view::npos ? first : parse_number(range.substr(dash + 1), kMaxCpu);
    if (!first || !last || *last < *first) return {};
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    // A list this long has repetitions, so it is not from the kernel.
    if (text.empty() || cpus.size() > static_cast<std::size_t>(kMaxCpu)) return {};
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::uint64_t read_memory_bytes(const std::string& root) {
  return read_meminfo(root, "MemTotal:");
}

std::uint64_t read_available_memory_bytes(const std::string& root) {
  return read_meminfo(root, "MemAvailable:");
}

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
  // Sorted by number, because a domain may have more than four digits, which changes the order of
  // names.
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
