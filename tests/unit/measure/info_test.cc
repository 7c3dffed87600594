#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "measure/info/machine_info.h"
#include "unit/fabric/shapes.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

MachineInfo info_of(const std::string& shape) {
  MachineInfo info;
  const std::string root = fabric::shape(shape);
  info.root = "/" + shape;
  info.facts.gpus = fabric::read_gpus(root);
  info.facts.fabric = fabric::facts_of(shape);
  info.no_health = "--root reads files only";
  info.no_faults = info.no_health;
  return info;
}

TEST(Info, AMachineWithEightRails) {
  const std::string text = info_text(info_of("dgx-h100"));
  EXPECT_THAT(text,
              HasSubstr("machine   the machine whose files are in /dgx-h100\n"
                        "gpus      8 x NVIDIA H100 80GB HBM3, driver 550.54.15, 4 NVSwitches\n"
                        "  gpu  bus           numa  nearest port            health\n"
                        "  0    0000:1b:00.0  0     mlx5_0:1, same switch   not known\n"));
  EXPECT_THAT(text, HasSubstr("mlx5_11:1, same switch"));
  EXPECT_THAT(text, HasSubstr("health and faults (Xid) are not known: --root reads files only\n"
                              "rdma "));
  EXPECT_THAT(text, HasSubstr("rdma      12 devices\n"));
  EXPECT_THAT(text, HasSubstr("400 Gb/s (4X NDR)"));
  EXPECT_THAT(text, HasSubstr("RoCE v2 at 3"));
  EXPECT_THAT(text, HasSubstr("a job     NCCL_IB_HCA==mlx5_0:1,mlx5_3:1,"));
}

// Each missing part is a line with the reason.
TEST(Info, AnEmptyMachine) {
  MachineInfo nothing = info_of("driver-without-device");
  const std::string text = info_text(nothing);
  EXPECT_THAT(text, HasSubstr("gpus      none: no NVIDIA GPU on the PCI bus, and no driver\n"));
  EXPECT_THAT(text,
              HasSubstr("rdma      none: the InfiniBand driver is loaded, but has no device\n"));
  EXPECT_THAT(text, HasSubstr("network   1 interface, physical\n"));
  EXPECT_THAT(text, Not(HasSubstr("a job")));
  EXPECT_THAT(text, Not(HasSubstr("health")));
  nothing.facts.fabric = fabric::read_fabric("/nonexistent", {}, "");
  EXPECT_THAT(info_text(nothing),
              HasSubstr("network   none: /sys/class/net lists no physical interface\n"));
}

TEST(Info, AVirtualMachine) {
  const std::string text = info_text(info_of("azure-nd-a100-v4"));
  EXPECT_THAT(text, HasSubstr("2 ports, same socket"));
  EXPECT_THAT(text, HasSubstr("mlx5_an0:1  Ethernet "));
  EXPECT_THAT(text, HasSubstr("nccl      NCCL_TOPO_FILE=/opt/microsoft/ndv4-topo.xml\n"));
  EXPECT_THAT(text, HasSubstr("mlx5_core VF  eth0\n"));
  EXPECT_THAT(info_text(info_of("container-without-files")),
              HasSubstr("processes here cannot open some of these devices"));
  EXPECT_THAT(info_text(info_of("port-down")), HasSubstr("DOWN (Polling)"));
}

TEST(Info, HealthAndFaults) {
  MachineInfo info = info_of("four-rails");
  info.no_health.clear();
  info.no_faults.clear();
  GpuHealth health;
  health.index = 1;
  health.uuid = info.facts.gpus[1].uuid;
  health.memory_used_mib = 61203;
  health.processes = {{4711, "python", 61199}};
  info.health = {health};
  info.findings = {
      {"slowed down by heat (91 C)", "pid 4711 (python) holds 61199 MiB of GPU memory"}};
  info.faults = {{info.facts.gpus[1].bus_id, 79, 1234, "GPU has fallen off the bus."}};
  const std::string text = info_text(info);
  EXPECT_THAT(text, HasSubstr("see below\n"));
  EXPECT_THAT(text, HasSubstr("          gpu 1: slowed down by heat (91 C)\n"));
  EXPECT_THAT(text, HasSubstr("          Xid 79 on " + info.facts.gpus[1].bus_id +
                              ": GPU has fallen off the bus.\n"));
  const auto json = nlohmann::json::parse(info_json(info));
  EXPECT_EQ(json["gpu_health"][0]["findings"].size(), 2U);
  EXPECT_EQ(json["gpu_health"][0]["processes"][0]["pid"], 4711);
  EXPECT_TRUE(json["gpu_health"][0]["temperature_c"].is_null());
  EXPECT_EQ(json["gpu_faults"][0]["xid"], 79);
  EXPECT_TRUE(json["no_gpu_health"].is_null());
}

TEST(Info, Json) {
  const auto json = nlohmann::json::parse(info_json(info_of("roce-v2")));
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["root"], "/roce-v2");
  const auto& fabric = json["facts"]["fabric"];
  EXPECT_EQ(fabric["rdma"].size(), 9U);
  EXPECT_EQ(fabric["rdma"][0]["ports"][0]["link_layer"], "ethernet");
  EXPECT_EQ(fabric["rdma"][0]["ports"][0]["gids"][3]["type"], "roce_v2");
  EXPECT_EQ(fabric["rdma"][0]["ports"][0]["rate_mbit"], 400000);
  EXPECT_EQ(fabric["rdma"][8]["card"], "ConnectX-6 Lx");
  EXPECT_TRUE(fabric["no_rdma"].is_null());
  EXPECT_EQ(json["no_gpu_health"], "--root reads files only");
  EXPECT_EQ(json["facts"]["gpus"][0]["pci_path"].get<std::string>().substr(0, 10), "pci0000:10");
}

}  // namespace
}  // namespace dlaunch
