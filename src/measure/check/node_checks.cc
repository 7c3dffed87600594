#include "measure/check/node_checks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "measure/check/folder_findings.h"
#include "measure/check/port_checks.h"
#include "plan/fabric_ports.h"
#include "text/size_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using Severity = CheckFinding::Severity;
using LinkLayer = RdmaPort::LinkLayer;
using Findings = std::vector<CheckFinding>;
using CheckedNodes = std::vector<CheckedNode>;

bool answered(const CheckedNode& node) {
  return node.failure.empty();
}

/// The findings of one node, in the order in which they are added.
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

// ---- each node alone

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
  // For the folder of the job, the check of the job's needs reports it.
  if (!disk.problem.empty()) return found.note("disk", disk.path + ": " + disk.problem, "");
  if (disk.is_read_only) return found.note("disk", disk.path + " is read-only");
  const std::string room = size_text(disk.free_bytes) + " left for " + disk.path;
  if (disk.free_bytes < kLeastDisk)
    return found.bad("disk", "only " + room, "free some space there");
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
              "only " + size_text(limits.locked_memory) + " of memory can be locked (ulimit -l)",
              "InfiniBand and RoCE lock their buffers: set \"* - memlock unlimited\" in "
              "/etc/security/limits.conf, LimitMEMLOCK=infinity for sshd, or use docker run "
              "--ulimit memlock=-1");
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
    found.bad("gpu-health", text, "dlaunch info on that node shows more");
  for (const std::string& text : node.condition.gpu_processes)
    found.bad("gpu-busy", text,
              "another process on the GPU slows the job down: end it or wait for it");
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

// ---- compared with the others

/// The value of more than half of the nodes that have one, if these are three or more.
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

/// A property that should be equal on all nodes.
struct Alike {
  const char* code;
  const char* what;  // "driver", "kernel"
  std::function<std::optional<std::string>(const CheckedNode&)> value;
  Severity severity = Severity::bad;
  const char* remedy = "";
  /// Whether a difference is bad even between two nodes, or without a majority.
  bool must_agree = false;
  /// Whether the first node clearly lost something that the other has: this also names the bad one
  /// of two nodes.
  bool (*has_lost)(const CheckedNode&, const CheckedNode&) = nullptr;
};

/// Adds findings for nodes that lost something that another one has.
bool add_lost(const CheckedNodes& nodes, const Alike& alike, Findings& findings) {
  bool any = false;
  for (std::uint32_t i = 0; alike.has_lost != nullptr && i < nodes.size(); ++i) {
    const auto other = std::find_if(nodes.begin(), nodes.end(), [&](const CheckedNode& node) {
      return answered(node) && answered(nodes[i]) && alike.has_lost(nodes[i], node);
    });
    if (other == nodes.end()) continue;
    any = true;
    findings.push_back({alike.severity,
                        {i},
                        alike.code,
                        std::string(alike.what) + ' ' + alike.value(nodes[i]).value_or("none") +
                            ", " + other->name + " has " + alike.value(*other).value_or("none"),
                        alike.remedy});
  }
  return any;
}

void check_alike(const CheckedNodes& nodes, const Alike& alike, Findings& findings) {
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
         std::string(alike.what) + ' ' + *values[i] + ", " + others_have(count) + ' ' + *most,
         alike.remedy});
  }
  if (most || add_lost(nodes, alike, findings)) return;
  std::string text = alike.what;
  text += text.ends_with(':') ? " not the same on all nodes:" : " differs:";
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

/// 7 of 8, or 3 of 4, of the same model: machines with one GPU fewer are not built.
bool has_lost_gpus(const CheckedNode& node, const CheckedNode& other) {
  const auto& own = node.facts.gpus;
  const auto& more = other.facts.gpus;
  if (own.empty() || own.size() >= more.size() || 2 * own.size() <= more.size()) return false;
  return std::all_of(more.begin(), more.end(),
                     [&](const GpuFact& gpu) { return gpu.model == own.front().model; }) &&
         std::all_of(own.begin(), own.end(),
                     [&](const GpuFact& gpu) { return gpu.model == own.front().model; });
}

/// The part of a library's version that must be equal on all nodes: "Open MPI v4.1", "NCCL 2.28"
/// from "nccl: ready, NCCL 2.28.9"; nullopt if there is none.
std::optional<std::string> library_of(const CheckedNode& node, std::string_view name,
                                      std::string_view word) {
  for (const std::string_view line : node.condition.collectives) {
    if (!line.starts_with(name)) continue;
    const std::size_t at = line.find(word);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view version = line.substr(at);
    const std::size_t dot = version.find('.');
    if (dot == std::string_view::npos) return std::string(version);
    return std::string(version.substr(0, version.find_first_not_of("0123456789", dot + 1)));
  }
  return std::nullopt;
}

std::string gib_text(std::uint64_t bytes) {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;
  return std::to_string((bytes + kGib / 2) / kGib) + " GiB";
}

/// Firmware and kernels reserve different amounts: a few per cent are normal.
void check_memory(const CheckedNodes& nodes, Findings& findings) {
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
  return joined(cards, ", ", [](const auto& card) { return card.first + ' ' + card.second; });
}

const std::vector<Alike>& alikes() {
  static const std::vector<Alike> table = {
      {"gpus", "GPUs:", [](const CheckedNode& node) { return some(gpus_text(node)); },
       Severity::bad, "a GPU may have fallen off the bus: dlaunch info, dmesg | grep -i xid", false,
       has_lost_gpus},
      {"driver", "NVIDIA driver",
       [](const CheckedNode& node) { return some(node.facts.fabric.gpu_driver); }, Severity::bad,
       "install the same driver everywhere", true},
      {"cores", "cores:",
       [](const CheckedNode& node) {
         return some(node.facts.cores.empty() ? "" : std::to_string(node.facts.cores.size()));
       },
       Severity::bad, "look for a container or cgroup limit, or a missing processor"},
      {"architecture", "architecture",
       [](const CheckedNode& node) { return some(node.facts.architecture); }, Severity::bad, "",
       true},
      {"mpi-version", "library",
       [](const CheckedNode& node) { return library_of(node, "mpi: ", "Open MPI "); },
       Severity::bad, "ranks of different versions cannot connect: install the same version"},
      {"nccl-version", "library",
       [](const CheckedNode& node) { return library_of(node, "nccl: ", "NCCL "); }, Severity::bad,
       "NCCL refuses different versions: install the same version"},
      {"kernel", "kernel", [](const CheckedNode& node) { return some(node.facts.kernel); },
       Severity::note},
      {"firmware", "firmware of the network cards:",
       [](const CheckedNode& node) { return some(firmware_of(node)); }, Severity::note},
  };
  return table;
}

using Severity = CheckFinding::Severity;

/// Whether the node has an InfiniBand port in any state; a port that is down has its own finding.
bool has_infiniband(const NodeFacts& facts) {
  return std::any_of(facts.fabric.rdma.begin(), facts.fabric.rdma.end(), [](const auto& device) {
    return is_infiniband_card(device) &&
           std::any_of(device.ports.begin(), device.ports.end(), [](const RdmaPort& port) {
             return port.link_layer == RdmaPort::LinkLayer::infiniband;
           });
  });
}

}  // namespace

Findings check_nodes(const CheckedNodes& nodes, std::optional<std::uint32_t> expected_gpus) {
  Findings findings;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    check_node(nodes[i], Finder(i, findings));
    const std::size_t gpus = nodes[i].facts.gpus.size();
    if (answered(nodes[i]) && gpus != expected_gpus.value_or(gpus)) {
      findings.push_back({Severity::bad,
                          {i},
                          "gpus",
                          counted(gpus, "GPU") + ", expected " + std::to_string(*expected_gpus),
                          "dlaunch info on that node, dmesg | grep -i xid"});
    }
  }
  for (CheckFinding& one : slow_files(nodes)) findings.push_back(std::move(one));
  check_ports(nodes, findings);
  check_memory(nodes, findings);
  for (const Alike& alike : alikes()) {
    const bool is_said = expected_gpus && alike.code == std::string_view("gpus");
    if (!is_said) check_alike(nodes, alike, findings);
  }
  const auto order = [&](const CheckFinding& one) {
    return one.nodes.empty() ? static_cast<std::uint32_t>(nodes.size()) : one.nodes.front();
  };
  std::stable_sort(findings.begin(), findings.end(), [&](const auto& x, const auto& y) {
    if (order(x) != order(y)) return order(x) < order(y);
    return x.severity == Severity::bad && y.severity != Severity::bad;
  });
  return findings;
}

std::vector<CheckFinding> azure_size_findings(const fabric::AzureSize& size,
                                              const std::vector<CheckedNode>& nodes) {
  const bool expected = size.has_rdma && size.has_sriov;
  std::vector<CheckFinding> findings;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].failure.empty()) continue;
    const bool found = has_infiniband(nodes[i].facts);
    if (expected && !found) {
      findings.push_back(
          {Severity::note,
           {i},
           "azure-size",
           "no InfiniBand port was found, but " + size.name + " has InfiniBand: " + size.says,
           "use an Azure HPC image, which includes the driver; a container also needs "
           "/sys/class/infiniband and /dev/infiniband"});
    }
    if (!expected && found) {
      findings.push_back({Severity::note,
                          {i},
                          "azure-size",
                          "an InfiniBand port was found, but " + size.name +
                              " has none: the node may have another size",
                          ""});
    }
  }
  if (!expected)
    findings.push_back({Severity::note, {}, "azure-size", size.name + ": " + size.says, ""});
  return findings;
}

}  // namespace dlaunch
