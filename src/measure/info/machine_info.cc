#include "measure/info/machine_info.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "plan/fabric_env.h"
#include "plan/fabric_ports.h"
#include "report/facts_json.h"
#include "text/strings.h"
#include "text/table.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

using LinkLayer = RdmaPort::LinkLayer;

constexpr std::size_t kLabel = 10;

std::string known(int number) {
  return number < 0 ? "-" : std::to_string(number);
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

/// A label and a sentence, wrapped.
void add_line(std::string& out, std::string_view label, std::string_view text) {
  append_wrapped(out, padded(label, kLabel), std::string(kLabel, ' '), text);
}

std::string memory_text(std::uint64_t bytes) {
  constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30U;
  return std::to_string((bytes + kGibibyte / 2) / kGibibyte) + " GiB memory";
}

void add_machine(std::string& out, const MachineInfo& info) {
  const NodeFacts& facts = info.facts;
  std::set<int> numa;
  std::size_t threads = 0;
  for (const CpuCore& core : facts.cores) {
    numa.insert(core.numa);
    threads += core.threads.size();
  }
  std::string text = info.root.empty()
                         ? facts.hostname + ", Linux " + facts.kernel + ", " + facts.architecture
                         : "the machine whose files are in " + info.root;
  if (!facts.cores.empty()) {
    text += ", " + counted(facts.cores.size(), "core") + " (" + counted(threads, "thread") +
            ") in " + counted(numa.size(), "NUMA node");
  }
  if (facts.memory_bytes > 0) text += ", " + memory_text(facts.memory_bytes);
  add_line(out, "machine", text);
}

/// The ports nearest to a GPU, among those that a job uses.
std::string nearest_port(const GpuFact& gpu, const std::vector<FabricPort>& ports) {
  if (ports.empty()) return "-";
  Nearness how = Nearness::unknown;
  for (const FabricPort& port : ports) how = std::min(how, nearness(gpu, *port.device));
  if (how == Nearness::unknown) return "not known";
  std::vector<const FabricPort*> nearest;
  for (const FabricPort& port : ports) {
    if (nearness(gpu, *port.device) == how) nearest.push_back(&port);
  }
  const std::string which =
      nearest.size() == 1 ? name_of(*nearest.front()) : counted(nearest.size(), "port");
  return which + ", " + std::string(name_of(how));
}

/// The ports that a job between such nodes would use.
std::vector<FabricPort> job_ports(const NodeFacts& facts) {
  for (const LinkLayer layer : {LinkLayer::infiniband, LinkLayer::ethernet}) {
    std::vector<FabricPort> ports = choose_ports(facts, layer).ports;
    if (!ports.empty()) return ports;
  }
  return {};
}

/// The index in info.health.
std::optional<std::size_t> health_of(const MachineInfo& info, const GpuFact& gpu) {
  for (std::size_t i = 0; i < info.health.size(); ++i) {
    const GpuHealth& health = info.health[i];
    const bool is_same = gpu.uuid.empty() ? health.bus_id == gpu.bus_id : health.uuid == gpu.uuid;
    if (is_same) return i;
  }
  return std::nullopt;
}

void add_gpu_table(std::string& out, const MachineInfo& info) {
  const std::vector<FabricPort> ports = job_ports(info.facts);
  const bool has_links = std::any_of(info.health.begin(), info.health.end(), [](const auto& gpu) {
    return gpu.nvlinks.state != NvLinks::State::not_asked;
  });
  std::vector<Cells> rows = {{"gpu", "bus", "numa", "nearest port"}};
  if (has_links) rows.front().emplace_back("nvlink");
  rows.front().emplace_back("health");
  for (const GpuFact& gpu : info.facts.gpus) {
    const auto at = health_of(info, gpu);
    Cells row = {std::to_string(gpu.index), gpu.bus_id, known(gpu.numa), nearest_port(gpu, ports)};
    if (has_links) row.push_back(at ? or_dash(nvlink_text(info.health[*at].nvlinks)) : "-");
    row.emplace_back(!at ? "not known" : info.findings[*at].empty() ? "ok" : "see below");
    rows.push_back(std::move(row));
  }
  out += table_text(rows, 2);
}

void add_gpus(std::string& out, const MachineInfo& info) {
  const NodeFacts& facts = info.facts;
  if (facts.gpus.empty()) return add_line(out, "gpus", "none: " + facts.fabric.no_gpus);
  std::map<std::string, std::size_t> models;
  for (const GpuFact& gpu : facts.gpus) ++models[or_dash(gpu.model)];
  std::string text;
  for (const auto& [model, count] : models)
    text += (text.empty() ? "" : " and ") + std::to_string(count) + " x " + model;
  text += facts.fabric.gpu_driver.empty() ? "" : ", driver " + facts.fabric.gpu_driver;
  if (facts.fabric.nvswitches > 0)
    text += ", " + std::to_string(facts.fabric.nvswitches) +
            (facts.fabric.nvswitches == 1 ? " NVSwitch" : " NVSwitches");
  add_line(out, "gpus", text);
  add_gpu_table(out, info);
  for (const GpuFact& gpu : facts.gpus) {
    const auto at = health_of(info, gpu);
    if (!at) continue;
    for (const std::string& finding : info.findings[*at])
      add_line(out, "", "gpu " + std::to_string(gpu.index) + ": " + finding);
  }
  const bool neither = !info.no_health.empty() && info.no_health == info.no_faults;
  if (!info.no_health.empty()) {
    add_line(out, "",
             std::string(neither ? "health and faults (Xid) are" : "health is") +
                 " not known: " + info.no_health);
  }
  for (const XidEvent& fault : info.faults) {
    add_line(out, "",
             "Xid " + std::to_string(fault.number) + " on " + fault.bus_id +
                 (fault.text.empty() ? "" : ": " + fault.text));
  }
  if (!info.no_faults.empty() && !neither)
    add_line(out, "", "faults (Xid) are not known: " + info.no_faults);
}

std::string state_text(const RdmaPort& port) {
  const std::string state = upper(name_in(kPortStateNames, port.state));  // as ibstat prints it
  const bool says_more = port.state != RdmaPort::State::active && !port.physical_state.empty();
  return state + (says_more ? " (" + port.physical_state + ")" : "");
}

std::string layer_text(const RdmaPort& port) {
  if (port.link_layer == LinkLayer::infiniband) return "InfiniBand";
  if (port.link_layer != LinkLayer::ethernet) return "unknown";
  const int index = roce_v2_index(port);
  return index < 0 ? "Ethernet" : "RoCE v2 at " + std::to_string(index);
}

std::string rate_of(const RdmaPort& port) {
  if (port.rate_mbit == 0) return "-";
  std::string text = rate_text(port.rate_mbit);
  if (port.lanes > 0)
    text += " (" + std::to_string(port.lanes) + "X" + (port.speed.empty() ? "" : " " + port.speed) +
            ")";
  return text;
}

void add_rdma(std::string& out, const NodeFacts& facts) {
  const FabricFacts& fabric = facts.fabric;
  if (fabric.rdma.empty()) return add_line(out, "rdma", "none: " + fabric.no_rdma);
  add_line(out, "rdma", counted(fabric.rdma.size(), "device"));
  std::vector<Cells> rows = {{"port", "link", "state", "rate", "numa", "card", "interface"}};
  bool is_locked = false;
  for (const RdmaDevice& device : fabric.rdma) {
    is_locked = is_locked || !device.is_usable;
    const bool is_virtual = device.function == PciFunction::virtual_function;
    const bool says_vf = device.card.ends_with("VF");
    for (const RdmaPort& port : device.ports) {
      rows.push_back({device.name + ':' + std::to_string(port.number), layer_text(port),
                      state_text(port), rate_of(port), known(device.numa),
                      or_dash(device.card) + (is_virtual && !says_vf ? " VF" : ""),
                      or_dash(port.netdev)});
    }
  }
  out += table_text(rows, 2);
  if (is_locked) {
    add_line(
        out, "",
        "processes here cannot open some of these devices: files in /dev/infiniband are missing or "
        "not readable (a container without --device=/dev/infiniband?)");
  }
  if (!facts.gpus.empty()) {
    add_line(
        out, "",
        fabric.peer_memory
            ? "GPUDirect RDMA: the kernel's nvidia_peermem is loaded"
            : "GPUDirect RDMA: nvidia_peermem is not loaded; NCCL can use DMA-BUF instead (Linux "
              "5.12, open kernel modules)");
  }
}

void add_nics(std::string& out, const FabricFacts& fabric) {
  if (fabric.nics.empty()) {
    return add_line(out, "network", "none: /sys/class/net lists no physical interface");
  }
  add_line(out, "network", counted(fabric.nics.size(), "interface") + ", physical");
  std::vector<Cells> rows = {{"name", "speed", "link", "numa", "driver", "part of"}};
  for (const NicFact& nic : fabric.nics) {
    const bool is_virtual = nic.function == PciFunction::virtual_function;
    rows.push_back({nic.name, nic.speed_mbit == 0 ? "-" : rate_text(nic.speed_mbit),
                    nic.has_carrier ? "up" : "down", known(nic.numa),
                    or_dash(nic.driver) + (is_virtual ? " VF" : ""), or_dash(nic.master)});
  }
  out += table_text(rows, 2);
}

/// The variables that a job on several nodes like this one would set.
void add_settings(std::string& out, const NodeFacts& facts) {
  Cluster pair;
  pair.nodes.resize(2);
  for (Node& node : pair.nodes) {
    node.name = "this node";
    node.facts = facts;
  }
  const FabricPlan plan = plan_fabric(pair, pair.nodes.size(), false);
  const NodeFabric& fabric = plan.nodes.front();
  for (const auto& [name, value] : facts.fabric.nccl_settings)
    add_line(out, "nccl", name + "=" + value);
  std::string_view label = "a job";
  const auto add = [&](const char* name, const std::optional<FabricSetting>& setting) {
    if (!setting) return;
    add_line(out, label, std::string(name) + "=" + setting->value);
    add_line(out, "", setting->reason);
    label = "";
  };
  add("NCCL_IB_HCA", fabric.nccl_ib_hca);
  add("NCCL_IB_GID_INDEX", fabric.nccl_ib_gid_index);
  label = "note";
  std::set<std::string_view> said;  // the same for both nodes
  for (const std::string& note : plan.notes) {
    if (note.starts_with("...") || !said.insert(note).second) continue;
    add_line(out, label, note);
    label = "";
  }
}

void write_optional(JsonText& json, std::string_view name,
                    const std::optional<std::uint64_t>& number) {
  json.key(name);
  number ? json.number(static_cast<std::int64_t>(*number)) : json.null();
}

/// null: not known. A GPU without active links may list none.
void write_nvlinks(JsonText& json, const NvLinks& links) {
  json.key("nvlinks");
  if (links.state == NvLinks::State::not_asked) {
    json.null();
    return;
  }
  json.begin_object().key("supported").boolean(links.state != NvLinks::State::none);
  json.key("links").begin_array();
  for (const NvLink& link : links.links) {
    json.begin_object().key("number").number(link.number).key("active").boolean(link.active);
    write_optional(json, "mbyte_s", link.mbyte_s);
    json.end_object();
  }
  json.end_array().end_object();
}

void write_health(JsonText& json, const GpuHealth& gpu, const std::vector<std::string>& findings) {
  json.begin_object().key("index").number(gpu.index).key("uuid").string(gpu.uuid);
  json.key("bus_id").string(gpu.bus_id).key("model").string(gpu.model);
  write_optional(json, "memory_total_mib", gpu.memory_total_mib);
  write_optional(json, "memory_used_mib", gpu.memory_used_mib);
  write_optional(json, "temperature_c", gpu.temperature_c);
  json.key("ecc");
  gpu.ecc ? json.boolean(*gpu.ecc) : json.null();
  write_optional(json, "ecc_uncorrected", gpu.ecc_uncorrected);
  write_optional(json, "retired_pages", gpu.retired_pages);
  write_optional(json, "remapped_rows", gpu.remapped_rows);
  json.key("repair_pending").boolean(gpu.repair_pending);
  json.key("repair_failed").boolean(gpu.repair_failed).key("slowed_by").begin_array();
  for (const std::string& reason : gpu.slowed_by) json.string(reason);
  json.end_array();
  write_optional(json, "power_limit_w", gpu.power_limit_w);
  write_optional(json, "power_default_w", gpu.power_default_w);
  write_optional(json, "pcie_width", gpu.pcie_width);
  write_optional(json, "pcie_width_max", gpu.pcie_width_max);
  write_nvlinks(json, gpu.nvlinks);
  json.key("processes").begin_array();
  for (const GpuProcess& process : gpu.processes) {
    json.begin_object().key("pid").number(process.pid).key("name").string(process.name);
    write_optional(json, "memory_mib", process.memory_mib);
    json.end_object();
  }
  json.end_array().key("findings").begin_array();
  for (const std::string& finding : findings) json.string(finding);
  json.end_array().end_object();
}

}  // namespace

std::string nvlink_text(const NvLinks& links) {
  switch (links.state) {
    case NvLinks::State::not_asked:
      return {};
    case NvLinks::State::none:
      return "no NVLink";
    case NvLinks::State::all_inactive:
      return "none active";
    case NvLinks::State::listed:
      break;
  }
  const auto active = static_cast<std::size_t>(links.active());
  if (active == 0) return "none active";
  if (active < links.links.size())
    return std::to_string(active) + " of " + std::to_string(links.links.size()) + " active";
  constexpr std::uint64_t kTenth = 100;
  const std::uint64_t tenths = (links.links.front().mbyte_s.value_or(0) + kTenth / 2) / kTenth;
  return std::to_string(active) + " x " + std::to_string(tenths / 10) + '.' +
         std::to_string(tenths % 10) + " GB/s";
}

std::string info_text(const MachineInfo& info) {
  std::string out;
  add_machine(out, info);
  add_gpus(out, info);
  add_rdma(out, info.facts);
  add_nics(out, info.facts.fabric);
  add_settings(out, info.facts);
  std::string_view label = "odd";
  for (const std::string& oddity : info.facts.fabric.oddities) {
    add_line(out, label, oddity);
    label = "";
  }
  return out;
}

std::string info_json(const MachineInfo& info) {
  std::string out;
  JsonText json(out);
  json.begin_object();
  json.line(1).key("format").number(1);
  json.line(1).key("root").string(info.root.empty() ? "/" : info.root);
  json.line(1).key("facts");
  write_facts(json, info.facts);
  json.line(1).key("gpu_health").begin_array();
  for (std::size_t i = 0; i < info.health.size(); ++i) {
    json.line(2);
    write_health(json, info.health[i], info.findings[i]);
  }
  json.end_array();
  json.line(1).key("no_gpu_health").string_or_null(info.no_health);
  json.line(1).key("gpu_faults").begin_array();
  for (const XidEvent& fault : info.faults) {
    json.begin_object().key("xid").number(fault.number).key("bus_id").string(fault.bus_id);
    write_optional(json, "at_boot_s", fault.at_boot_s);
    json.key("text").string(fault.text).end_object();
  }
  json.end_array();
  json.line(1).key("no_gpu_faults").string_or_null(info.no_faults).line(0).end_object();
  out += '\n';
  return out;
}

}  // namespace dlaunch
