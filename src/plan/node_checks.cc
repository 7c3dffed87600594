#include "plan/node_checks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

#include "plan/fabric_ports.h"
#include "text/size_text.h"

namespace dlaunch {

namespace {

using Severity = CheckFinding::Severity;
using LinkLayer = RdmaPort::LinkLayer;
using Findings = std::vector<CheckFinding>;
using Nodes = std::vector<CheckedNode>;

bool answered(const CheckedNode& node) {
  return node.failure.empty();
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string counted(std::size_t n, const std::string& one) {
  return std::to_string(n) + ' ' + one + (n == 1 ? "" : "s");
}

/// Of one node, in the order in which they are added.
class Finder {
 public:
  Finder(std::uint32_t node, Findings& findings) : node_(node), findings_(findings) {}
  void bad(const char* code, std::string text, std::string remedy) {
    findings_.push_back({Severity::bad, {node_}, code, std::move(text), std::move(remedy)});
  }
  void note(const char* code, std::string text, std::string remedy = {}) {
    findings_.push_back({Severity::note, {node_}, code, std::move(text), std::move(remedy)});
  }

 private:
  std::uint32_t node_;
  Findings& findings_;
};

// ---- by itself

std::string seconds_text(std::int64_t ns) {
  const std::int64_t tenths = (ns < 0 ? -ns : ns) / 100'000'000;
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " s";
}

void check_clock(const CheckedNode& node, Finder& found) {
  if (!node.clock_offset_ns) return;
  const std::int64_t off = *node.clock_offset_ns;
  const std::int64_t least =
      std::max<std::int64_t>((off < 0 ? -off : off) - node.clock_error_ns, 0);
  if (least < kWorstClockNs) return;
  found.bad("clock", "its clock is " + seconds_text(off) + (off < 0 ? " behind" : " ahead"),
            "set it: chronyc makestep, or timedatectl set-ntp true");
}

void check_disk(const DiskFact& disk, Finder& found) {
  // Of the job's folder: the check of places has said it, with the job's own words.
  if (!disk.problem.empty()) return found.note("disk", disk.path + ": " + disk.problem, "");
  if (disk.is_read_only) return found.note("disk", disk.path + " is read-only");
  const std::string room = size_text(disk.free_bytes) + " left for " + disk.path;
  if (disk.free_bytes < kLeastDisk) return found.bad("disk", "only " + room, "make room there");
  if (disk.free_bytes < kLittleDisk) found.note("disk", "only " + room);
}

bool has_rdma(const NodeFacts& facts) {
  return !usable_ports(facts, LinkLayer::infiniband).empty() ||
         !usable_ports(facts, LinkLayer::ethernet).empty();
}

void check_limits(const CheckedNode& node, Finder& found) {
  const ResourceLimits& limits = node.facts.limits;
  const std::uint64_t quarter = node.facts.memory_bytes / 4;
  const std::uint64_t enough = quarter > 0 ? std::min(quarter, kMuchLocked) : kMuchLocked;
  if (has_rdma(node.facts) && limits.locked_memory < enough) {
    found.bad("memlock",
              "only " + size_text(limits.locked_memory) + " of memory may be locked (ulimit -l)",
              "InfiniBand and RoCE lock their buffers: \"* - memlock unlimited\" in "
              "/etc/security/limits.conf, LimitMEMLOCK=infinity for sshd, or docker run --ulimit "
              "memlock=-1");
  }
  if (limits.open_files < kFewOpenFiles) {
    found.bad("open-files", "a process may open only " + counted(limits.open_files, "file"),
              "raise \"nofile\" in /etc/security/limits.conf");
  }
  const std::uint64_t shm = node.condition.shm_bytes;
  if (node.facts.gpus.size() > 1 && shm <= kDockerShm && node.condition.problem.empty()) {
    found.bad(
        "shm",
        shm == 0 ? std::string("there is no /dev/shm") : "/dev/shm has only " + size_text(shm),
        "NCCL and data loaders need it: docker run --shm-size=16g, or --ipc=host");
  }
}

void check_gpus(const CheckedNode& node, Finder& found) {
  for (const std::string& text : node.condition.gpu_findings)
    found.bad("gpu-health", text, "dlaunch info on that node says more");
  for (const std::string& text : node.condition.gpu_processes)
    found.bad("gpu-busy", text, "somebody else's work slows the job down: end it or wait for it");
  for (const std::string& text : node.condition.gpu_notes) found.note("gpu-health", text);
}

void check_node(const CheckedNode& node, Finder found) {
  if (!answered(node))
    return found.bad("connect", first_line(node.failure), "ssh " + node.name + " true");
  for (const std::string& what : node.missing) found.bad("missing", what, "");
  check_gpus(node, found);
  check_limits(node, found);
  check_clock(node, found);
  for (const DiskFact& disk : node.condition.disks) check_disk(disk, found);
  if (!node.condition.problem.empty()) found.bad("condition", node.condition.problem, "");
  for (const std::string& text : rails_without_address(node.facts)) found.note("roce", text);
}

// ---- beside the others

/// The value of more than half of those that have one, of three or more.
std::optional<std::string> usual(const std::vector<std::optional<std::string>>& values,
                                 std::size_t& count) {
  std::map<std::string, std::size_t> times;
  std::size_t all = 0;
  for (const auto& value : values) {
    if (!value) continue;
    ++times[*value];
    ++all;
  }
  for (const auto& [value, n] : times) {
    count = n;
    if (all > 2 && 2 * n > all) return value;
  }
  return std::nullopt;
}

std::string others(std::size_t count) {
  return count == 1 ? "another node has" : "the other " + std::to_string(count) + " have";
}

/// What all nodes should have alike.
struct Alike {
  const char* code;
  const char* what;  // "driver", "kernel"
  std::function<std::optional<std::string>(const CheckedNode&)> value;
  Severity severity = Severity::bad;
  const char* remedy = "";
  /// Also of two nodes, or without a majority, that they differ is bad.
  bool must_agree = false;
};

void check_alike(const Nodes& nodes, const Alike& alike, Findings& findings) {
  std::vector<std::optional<std::string>> values;
  std::map<std::string, std::string> holders;  // value -> the first node that has it
  for (const CheckedNode& node : nodes) {
    values.push_back(answered(node) ? alike.value(node) : std::nullopt);
    if (values.back()) holders.emplace(*values.back(), node.name);
  }
  if (holders.size() < 2) return;
  std::size_t count = 0;
  const auto most = usual(values, count);
  for (std::uint32_t i = 0; most && i < nodes.size(); ++i) {
    if (!values[i] || *values[i] == *most) continue;
    findings.push_back(
        {alike.severity,
         {i},
         alike.code,
         std::string(alike.what) + ' ' + *values[i] + ", " + others(count) + ' ' + *most,
         alike.remedy});
  }
  if (most) return;
  std::string text = std::string(alike.what) + " differs:";
  for (const auto& [value, name] : holders) text += ' ' + value + " (" + name + "),";
  text.pop_back();
  const bool is_bad = alike.must_agree && alike.severity == Severity::bad;
  findings.push_back({is_bad ? Severity::bad : Severity::note, {}, alike.code, text, alike.remedy});
}

std::optional<std::string> some(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::string gpus_text(const CheckedNode& node) {
  std::map<std::string, std::size_t> models;
  for (const GpuFact& gpu : node.facts.gpus) ++models[gpu.model.empty() ? "GPU" : gpu.model];
  std::string text;
  for (const auto& [model, count] : models)
    text += (text.empty() ? "" : " and ") + std::to_string(count) + " x " + model;
  return text.empty() ? "none" : text;
}

std::string gib_text(std::uint64_t bytes) {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;
  return std::to_string((bytes + kGib / 2) / kGib) + " GiB";
}

/// Firmware and kernels keep a little more or less of it: a few per cent say nothing.
void check_memory(const Nodes& nodes, Findings& findings) {
  constexpr double kLeastShare = 0.97;
  std::vector<std::uint64_t> values;
  for (const CheckedNode& node : nodes) {
    if (answered(node) && node.facts.memory_bytes > 0) values.push_back(node.facts.memory_bytes);
  }
  if (values.size() < 2) return;
  std::sort(values.begin(), values.end());
  const bool two = values.size() == 2;
  const std::uint64_t usual = two ? values.back() : values[(values.size() - 1) / 2];
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const std::uint64_t own = answered(nodes[i]) ? nodes[i].facts.memory_bytes : 0;
    if (own == 0 || static_cast<double>(own) >= kLeastShare * static_cast<double>(usual)) continue;
    findings.push_back({two ? Severity::note : Severity::bad,
                        {i},
                        "memory",
                        "memory: " + gib_text(own) +
                            (two ? ", the other node has " : ", the median is ") + gib_text(usual),
                        "a module may have failed: dmesg, ipmitool sel list"});
  }
}

std::string firmware_of(const CheckedNode& node) {
  std::map<std::string, std::string> cards;
  for (const RdmaDevice& device : node.facts.fabric.rdma) {
    if (!device.firmware.empty()) cards.emplace(device.card, device.firmware);
  }
  std::string text;
  for (const auto& [card, firmware] : cards)
    text += (text.empty() ? "" : ", ") + card + ' ' + firmware;
  return text;
}

const std::vector<Alike>& alikes() {
  static const std::vector<Alike> table = {
      {"gpus", "GPUs:", [](const CheckedNode& node) { return some(gpus_text(node)); },
       Severity::bad, "a GPU may have fallen off the bus: dlaunch info, dmesg | grep -i xid"},
      {"driver", "NVIDIA driver",
       [](const CheckedNode& node) { return some(node.facts.fabric.gpu_driver); }, Severity::bad,
       "install the same driver everywhere", true},
      {"cores", "cores:",
       [](const CheckedNode& node) {
         return some(node.facts.cores.empty() ? "" : std::to_string(node.facts.cores.size()));
       },
       Severity::bad, "a limit of a container or cgroup, or a processor that is not there"},
      {"architecture", "architecture",
       [](const CheckedNode& node) { return some(node.facts.architecture); }, Severity::bad, "",
       true},
      {"kernel", "kernel", [](const CheckedNode& node) { return some(node.facts.kernel); },
       Severity::note},
      {"firmware", "firmware of the network cards:",
       [](const CheckedNode& node) { return some(firmware_of(node)); }, Severity::note},
  };
  return table;
}

// ---- ports

struct PortSeen {
  std::uint32_t node = 0;
  const RdmaPort* port = nullptr;
};

std::string state_text(const RdmaPort& port) {
  std::string text(name_in(kPortStateNames, port.state));
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

bool is_active(const RdmaPort& port) {
  return port.state == RdmaPort::State::active;
}

/// Bad where more than half of the others, two or more, are otherwise; of two nodes nobody can say
/// which is right.
std::optional<Severity> judged(std::size_t otherwise, std::size_t others) {
  if (otherwise == 0 || 2 * otherwise <= others) return std::nullopt;
  return others > 1 ? Severity::bad : Severity::note;
}

/// One that is ACTIVE, and as fast, on most of the other nodes that have it.
void check_port(const std::string& name, const std::vector<PortSeen>& seen, Findings& findings) {
  if (seen.size() < 2) return;
  const auto active = static_cast<std::size_t>(std::count_if(
      seen.begin(), seen.end(), [](const PortSeen& one) { return is_active(*one.port); }));
  std::map<std::uint32_t, std::size_t> rates;
  for (const PortSeen& one : seen) {
    if (is_active(*one.port)) ++rates[one.port->rate_mbit];
  }
  for (const PortSeen& one : seen) {
    if (!is_active(*one.port)) {
      const auto severity = judged(active, seen.size() - 1);
      if (!severity) continue;
      findings.push_back(
          {*severity,
           {one.node},
           "port-down",
           name + " is " + state_text(*one.port) +
               (one.port->physical_state.empty() ? "" : " (" + one.port->physical_state + ")"),
           "look after its cable and its switch port: ibstat, iblinkinfo"});
      continue;
    }
    for (const auto& [rate, count] : rates) {
      const auto severity = judged(count, active - 1);
      if (one.port->rate_mbit >= rate || !severity) continue;
      findings.push_back({*severity,
                          {one.node},
                          "port-rate",
                          name + " runs at " + rate_text(one.port->rate_mbit) + ", " +
                              others(count) + ' ' + rate_text(rate),
                          "look after its cable: lanes may be lost (iblinkinfo)"});
      break;
    }
  }
}

/// Of InfiniBand, and of RoCE cards of the machine's own: a virtual machine's Ethernet is an RDMA
/// device, too, and comes and goes.
std::size_t rdma_ports(const CheckedNode& node) {
  std::size_t count = 0;
  for (const RdmaDevice& device : node.facts.fabric.rdma) {
    for (const RdmaPort& port : device.ports) {
      const bool is_roce = port.link_layer == LinkLayer::ethernet && !device.pci_address.empty() &&
                           device.function == PciFunction::physical;
      if (port.link_layer == LinkLayer::infiniband || is_roce) ++count;
    }
  }
  return count;
}

/// A card that has fallen off the bus leaves no port that could be down.
void check_cards(const Nodes& nodes, Findings& findings) {
  std::map<std::size_t, std::size_t> times;  // number of ports -> nodes
  std::size_t all = 0;
  for (const CheckedNode& node : nodes) {
    if (!answered(node)) continue;
    ++times[rdma_ports(node)];
    ++all;
  }
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (!answered(nodes[i])) continue;
    const std::size_t own = rdma_ports(nodes[i]);
    for (const auto& [ports, count] : times) {
      const auto severity = judged(count, all - 1);
      if (ports <= own || !severity) continue;
      findings.push_back({*severity,
                          {i},
                          "rdma-ports",
                          "InfiniBand and RoCE ports: " + std::to_string(own) + ", " +
                              others(count) + ' ' + std::to_string(ports),
                          "a card may have fallen off the bus: lspci, dmesg"});
    }
  }
}

void check_ports(const Nodes& nodes, Findings& findings) {
  std::map<std::string, std::vector<PortSeen>> ports;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (!answered(nodes[i])) continue;
    for (const RdmaDevice& device : nodes[i].facts.fabric.rdma) {
      // A virtual machine's own Ethernet is an RDMA device, too (plan/fabric_ports.h).
      for (const RdmaPort& port : device.ports) {
        if (port.link_layer == LinkLayer::infiniband)
          ports[name_of(FabricPort{&device, &port})].push_back({i, &port});
      }
    }
  }
  for (const auto& [name, seen] : ports) check_port(name, seen, findings);
}

}  // namespace

Findings check_nodes(const Nodes& nodes) {
  Findings findings;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) check_node(nodes[i], Finder(i, findings));
  check_ports(nodes, findings);
  check_cards(nodes, findings);
  check_memory(nodes, findings);
  for (const Alike& alike : alikes()) check_alike(nodes, alike, findings);
  const auto place = [&](const CheckFinding& one) {
    return one.nodes.empty() ? static_cast<std::uint32_t>(nodes.size()) : one.nodes.front();
  };
  std::stable_sort(findings.begin(), findings.end(), [&](const auto& x, const auto& y) {
    if (place(x) != place(y)) return place(x) < place(y);
    return x.severity == Severity::bad && y.severity != Severity::bad;
  });
  return findings;
}

LinkRate link_rate(const NodeFacts& facts, const std::string& interface, bool nccl) {
  constexpr double kMbitPerGbyte = 8000;
  constexpr double kShareOfRdma = 0.5;
  // One process adds up in the memory of the host: that is slower than the wire.
  constexpr double kMostByHost = 2;
  // One process and TCP: what it takes of the processor counts more than the wire.
  constexpr double kShareOfTcp = 0.25;
  constexpr double kMostByTcp = 1.25;  // 10 Gb/s
  for (const LinkLayer layer : {LinkLayer::infiniband, LinkLayer::ethernet}) {
    std::vector<double> rates;
    for (const FabricPort& port : choose_ports(facts, layer).ports) {
      if (port.port->rate_mbit == 0) return {};
      rates.push_back(port.port->rate_mbit / kMbitPerGbyte);
    }
    if (rates.empty()) continue;
    std::sort(rates.begin(), rates.end(), std::greater<>());
    if (!nccl) return {std::min(rates.front(), kMostByHost / kShareOfRdma), kShareOfRdma};
    // A GPU gives its data to one port at a time.
    const std::size_t used = std::min(rates.size(), std::max<std::size_t>(facts.gpus.size(), 1));
    const auto end = rates.begin() + static_cast<std::ptrdiff_t>(used);
    return {std::accumulate(rates.begin(), end, 0.0), kShareOfRdma};
  }
  for (const NetworkInterface& one : facts.interfaces) {
    if (one.name == interface && one.kind == NetworkInterface::Kind::physical)
      return {std::min(one.speed_mbit / kMbitPerGbyte, kMostByTcp), kShareOfTcp};
  }
  return {};
}

double expected_busbw(const std::vector<LinkRate>& links) {
  double least = links.empty() ? 0 : links.front().gbs * links.front().share;
  for (const LinkRate& link : links) least = std::min(least, link.gbs * link.share);
  return least;
}

}  // namespace dlaunch
