#include <algorithm>
#include <tuple>

#include "fabric/node_facts.h"
#include "fabric/tree.h"

namespace dlaunch::fabric {

namespace {

/// One entry for each CPU number up to the largest that matters.
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

/// Number of "node12"; nullopt for "online", "possible", ...
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
  // core_cpus_list is the name since Linux 5.3; the other one still exists, but is deprecated.
  std::optional<std::string> list = cpu_folder.read(topology + "core_cpus_list");
  if (!list) list = cpu_folder.read(topology + "thread_siblings_list");
  if (!list) return {cpu};
  std::vector<int> threads = parse_cpu_list(*list);
  if (!std::binary_search(threads.begin(), threads.end(), cpu)) return {cpu};
  return threads;
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

}  // namespace dlaunch::fabric
