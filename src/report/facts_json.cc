#include "report/facts_json.h"

#include <utility>
#include <vector>

namespace dlaunch {

namespace {

void write_numa(JsonText& json, int numa) {
  numa < 0 ? json.null() : json.number(numa);
}

void write_known(JsonText& json, std::string_view name, std::uint32_t number) {
  json.key(name);
  number == 0 ? json.null() : json.number(number);
}

void write_texts(JsonText& json, std::string_view name, const std::vector<std::string>& texts) {
  json.key(name).begin_array();
  for (const std::string& text : texts) json.string(text);
  json.end_array();
}

void write_port(JsonText& json, const RdmaPort& port) {
  json.begin_object().key("number").number(port.number);
  json.key("link_layer").string(name_in(kLinkLayerNames, port.link_layer));
  json.key("state").string(name_in(kPortStateNames, port.state));
  json.key("physical_state").string(port.physical_state);
  write_known(json, "rate_mbit", port.rate_mbit);
  json.key("lanes");
  port.lanes == 0 ? json.null() : json.number(port.lanes);
  json.key("speed").string(port.speed);
  json.key("lid").number(port.lid).key("sm_lid").number(port.sm_lid);
  json.key("netdev").string(port.netdev).key("gids").begin_array();
  for (const RdmaGid& gid : port.gids) {
    json.begin_object().key("index").number(gid.index);
    json.key("type").string(name_in(kGidTypeNames, gid.type)).key("gid").string(gid.gid);
    json.key("netdev").string(gid.netdev).end_object();
  }
  json.end_array().end_object();
}

void write_device(JsonText& json, const RdmaDevice& device) {
  json.begin_object();
  for (const auto& [name, text] : {std::pair{"name", &device.name},
                                   {"type", &device.type},
                                   {"guid", &device.guid},
                                   {"firmware", &device.firmware},
                                   {"card", &device.card},
                                   {"driver", &device.driver},
                                   {"pci_address", &device.pci_address},
                                   {"pci_path", &device.pci_path}})
    json.key(name).string(*text);
  json.key("numa");
  write_numa(json, device.numa);
  json.key("function").string(name_in(kPciFunctionNames, device.function));
  json.key("is_usable").boolean(device.is_usable).key("ports").begin_array();
  for (const RdmaPort& port : device.ports) write_port(json, port);
  json.end_array().end_object();
}

void write_nic(JsonText& json, const NicFact& nic) {
  json.begin_object();
  for (const auto& [name, text] : {std::pair{"name", &nic.name},
                                   {"driver", &nic.driver},
                                   {"pci_address", &nic.pci_address},
                                   {"pci_path", &nic.pci_path},
                                   {"master", &nic.master}})
    json.key(name).string(*text);
  json.key("numa");
  write_numa(json, nic.numa);
  json.key("function").string(name_in(kPciFunctionNames, nic.function));
  json.key("has_carrier").boolean(nic.has_carrier);
  write_known(json, "speed_mbit", nic.speed_mbit);
  json.key("is_infiniband").boolean(nic.is_infiniband).end_object();
}

void write_reason(JsonText& json, std::string_view name, const std::string& reason) {
  json.key(name);
  reason.empty() ? json.null() : json.string(reason);
}

void write_gpus(JsonText& json, const std::vector<GpuFact>& gpus) {
  json.key("gpus").begin_array();
  for (const GpuFact& gpu : gpus) {
    json.begin_object().key("index").number(gpu.index).key("uuid").string(gpu.uuid);
    json.key("bus_id").string(gpu.bus_id).key("model").string(gpu.model).key("numa");
    write_numa(json, gpu.numa);
    json.key("pci_path").string(gpu.pci_path).end_object();
  }
  json.end_array();
}

void write_interfaces(JsonText& json, const std::vector<NetworkInterface>& interfaces) {
  json.key("interfaces").begin_array();
  for (const NetworkInterface& one : interfaces) {
    json.begin_object().key("name").string(one.name).key("is_up").boolean(one.is_up);
    json.key("speed_mbit");
    one.speed_mbit == 0 ? json.null() : json.number(one.speed_mbit);
    json.key("mtu").number(one.mtu).key("addresses").begin_array();
    for (const InterfaceAddress& address : one.addresses)
      json.string(address.text + '/' + std::to_string(address.prefix));
    json.end_array().end_object();
  }
  json.end_array();
}

void write_limits(JsonText& json, const ResourceLimits& limits) {
  json.key("limits").begin_object();
  for (const auto& [name, value] : {std::pair{"open_files", limits.open_files},
                                    {"processes", limits.processes},
                                    {"locked_memory", limits.locked_memory}}) {
    json.key(name);
    value == ResourceLimits::kUnlimited ? json.null()
                                        : json.number(static_cast<std::int64_t>(value));
  }
  json.end_object();
}

}  // namespace

void write_facts(JsonText& json, const NodeFacts& facts) {
  json.begin_object();
  json.key("hostname").string(facts.hostname).key("architecture").string(facts.architecture);
  json.key("kernel").string(facts.kernel);
  for (const auto& [name, bytes] : {std::pair{"memory_bytes", facts.memory_bytes},
                                    {"memory_available_bytes", facts.memory_available_bytes}}) {
    json.key(name);
    bytes == 0 ? json.null() : json.number(static_cast<std::int64_t>(bytes));
  }
  json.key("cores").begin_array();
  for (const CpuCore& core : facts.cores) {
    json.begin_object().key("numa").number(core.numa);
    json.key("threads").begin_array();
    for (const int cpu : core.threads) json.number(cpu);
    json.end_array().key("taken").boolean(core.taken).end_object();
  }
  json.end_array();
  write_gpus(json, facts.gpus);
  json.key("cuda_visible_devices");
  facts.cuda_visible_devices ? json.string(*facts.cuda_visible_devices) : json.null();
  write_interfaces(json, facts.interfaces);
  write_limits(json, facts.limits);
  json.key("fabric");
  write_fabric(json, facts.fabric);
  json.key("mca_settings").begin_object();
  for (const auto& [name, value] : facts.mca_settings) json.key(name).string(value);
  json.end_object();
  json.end_object();
}

void write_fabric(JsonText& json, const FabricFacts& facts) {
  json.begin_object().key("rdma").begin_array();
  for (const RdmaDevice& device : facts.rdma) write_device(json, device);
  json.end_array();
  write_reason(json, "no_rdma", facts.no_rdma);
  json.key("nics").begin_array();
  for (const NicFact& nic : facts.nics) write_nic(json, nic);
  json.end_array();
  json.key("gpu_driver").string(facts.gpu_driver);
  write_reason(json, "no_gpus", facts.no_gpus);
  json.key("nvswitches").number(facts.nvswitches).key("peer_memory").boolean(facts.peer_memory);
  json.key("nccl_settings").begin_object();
  for (const auto& [name, value] : facts.nccl_settings) json.key(name).string(value);
  json.end_object();
  write_texts(json, "oddities", facts.oddities);
  json.end_object();
}

}  // namespace dlaunch
