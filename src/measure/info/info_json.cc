#include "measure/info/machine_info.h"
#include "report/facts_json.h"

namespace dlaunch {

namespace {

void write_optional(JsonText& json, std::string_view name,
                    const std::optional<std::uint64_t>& number) {
  json.key(name);
  number ? json.number(static_cast<std::int64_t>(*number)) : json.null();
}

void write_reason(JsonText& json, std::string_view name, const std::string& reason) {
  json.key(name);
  reason.empty() ? json.null() : json.string(reason);
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
  json.line(1);
  write_reason(json, "no_gpu_health", info.no_health);
  json.line(1).key("gpu_faults").begin_array();
  for (const XidEvent& fault : info.faults) {
    json.begin_object().key("xid").number(fault.number).key("bus_id").string(fault.bus_id);
    write_optional(json, "at_boot_s", fault.at_boot_s);
    json.key("text").string(fault.text).end_object();
  }
  json.end_array();
  json.line(1);
  write_reason(json, "no_gpu_faults", info.no_faults);
  json.line(0).end_object();
  out += '\n';
  return out;
}

}  // namespace dlaunch
