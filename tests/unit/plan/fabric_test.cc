// The NCCL and UCX settings for whole machines (tests/data/fabric/shapes.py). Each expected value
// cites the source of its rule:
//   [NCCL]  NVIDIA, NCCL, "Environment Variables"
//   [IB]    NCCL's own choice, src/transport/net_ib: ports that are ACTIVE, of either link layer
//   [DGX]   NVIDIA, "DGX H100 System User Guide": compute and storage networks are apart
//   [Azure] Microsoft, "Accelerated Networking on HB, HC, HBv2, HBv3 and NDv2": its function is an
//           mlx5 device beside the InfiniBand one, in any order
//   [UCX]   OpenUCX, "Frequently Asked Questions": UCX_NET_DEVICES=mlx5_0:1
#include "plan/fabric_env.h"

#include <gmock/gmock.h>

#include "fake_cluster.h"
#include "plan/fabric_ports.h"
#include "report/plan_text.h"
#include "unit/fabric/shapes.h"

namespace dlaunch {
namespace {

using test::plan_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Cluster machines(const std::vector<std::string>& shapes) {
  Cluster cluster;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Node node = test::fake_node("gpu0" + std::to_string(i + 1), {});
    node.facts.gpus = fabric::read_gpus(fabric::shape(shapes[i]));
    node.facts.fabric = fabric::facts_of(shapes[i]);
    for (const RdmaDevice& device : node.facts.fabric.rdma)
      node.facts.rdma_devices.push_back(device.name);
    cluster.nodes.push_back(std::move(node));
  }
  cluster.nodes.front().is_launcher = true;
  return cluster;
}

/// Variables of the first rank of a node.
Environment env_on(const LaunchPlan& plan, std::uint32_t node) {
  return test::environment_of(plan, plan.nodes[node].ranks.front().value);
}

const char* const kRails =
    "=mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_9:1,mlx5_10:1,mlx5_11:1";

TEST(Nearness, ByWhereTheyHang) {
  const std::string gpu = "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1b:00.0";
  const auto to = [&](const char* path, int numa) { return nearness(gpu, 0, path, numa); };
  EXPECT_EQ(to("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:18:00.0", 0),
            Nearness::same_switch);
  EXPECT_EQ(to("pci0000:15/0000:15:01.0/0000:20:00.0", 0), Nearness::same_switch);
  EXPECT_EQ(to("pci0000:15/0000:15:02.0/0000:20:00.0", 0), Nearness::same_root);
  EXPECT_EQ(to("pci0000:3d/0000:3d:01.0/0000:40:00.0", 0), Nearness::same_socket);
  EXPECT_EQ(to("pci0000:97/0000:97:01.0/0000:9a:00.0", 1), Nearness::across);
  EXPECT_EQ(to("pci0000:97/0000:97:01.0/0000:9a:00.0", -1), Nearness::unknown);
  EXPECT_EQ(to("", 0), Nearness::same_socket);
  EXPECT_EQ(nearness("", -1, "", -1), Nearness::unknown);
}

TEST(Fabric, RailsOfADgxAndNotItsStorage) {
  const Cluster cluster = machines({"dgx-h100", "dgx-h100"});
  const LaunchPlan plan = plan_of(test::list_job(), cluster);
  const Environment env = env_on(plan, 1);
  EXPECT_EQ(env.at("NCCL_IB_HCA"), kRails);  // [DGX], "=" and ports [NCCL]
  // [NCCL]: PXB by itself, and more on Grace (ncclTopoCheckGdr).
  EXPECT_FALSE(env.contains("NCCL_NET_GDR_LEVEL"));
  EXPECT_FALSE(env.contains("NCCL_IB_GID_INDEX"));  // [NCCL]: of RoCE
  EXPECT_FALSE(env.contains("UCX_NET_DEVICES"));    // not an MPI job
  EXPECT_EQ(plan.notes, (std::vector<std::string>()));
  const std::string text = plan_text(plan, cluster);
  EXPECT_THAT(text, HasSubstr("from fabric    NCCL_IB_HCA==mlx5_0:1,mlx5_3:1"));
  EXPECT_THAT(text, HasSubstr("               8 InfiniBand ports ACTIVE at 400 Gb/s, on PCIe "
                              "switches with\n               GPUs; mlx5_1 and mlx5_7 are not; "
                              "mlx5_2 and mlx5_8 are Ethernet\n"));
  EXPECT_THAT(text, Not(HasSubstr("by node        NCCL_IB_HCA")));
}

/// Ports of devices with these names.
void set_state(Node& node, const std::vector<std::string>& names, RdmaPort::State state) {
  for (RdmaDevice& device : node.facts.fabric.rdma) {
    if (std::find(names.begin(), names.end(), device.name) == names.end()) continue;
    for (RdmaPort& port : device.ports) port.state = state;
  }
}

TEST(Fabric, StorageTakesNoPlaceOfARailThatIsDown) {
  Cluster cluster = machines({"dgx-h100", "dgx-h100"});
  set_state(cluster.nodes[1], {"mlx5_0"}, RdmaPort::State::down);
  LaunchPlan plan = plan_of(test::list_job(), cluster);
  EXPECT_EQ(env_on(plan, 0).at("NCCL_IB_HCA"), kRails);
  std::string others = kRails;
  others.erase(1, std::string("mlx5_0:1,").size());
  EXPECT_EQ(env_on(plan, 1).at("NCCL_IB_HCA"), others);
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("gpu02: mlx5_0/1 is down")));
  // If all of them are down, the storage network is not suitable for training.
  set_state(cluster.nodes[1],
            {"mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11"},
            RdmaPort::State::down);
  plan = plan_of(test::list_job(), cluster);
  EXPECT_FALSE(env_on(plan, 1).contains("NCCL_IB_HCA"));
  EXPECT_THAT(plan.notes,
              ElementsAre(HasSubstr("gpu02: NCCL_IB_HCA is not set, because none of the InfiniBand "
                                    "ports beside its GPUs can be used")));
}

TEST(Fabric, AzuresEthernetFunctionIsNotTaken) {
  const Cluster cluster = machines({"azure-nd-a100-v4", "azure-nd-a100-v4"});
  const LaunchPlan plan = plan_of(test::list_job(), cluster);
  const Environment env = env_on(plan, 0);
  EXPECT_EQ(env.at("NCCL_IB_HCA"),  // [Azure]
            "=mlx5_ib0:1,mlx5_ib1:1,mlx5_ib2:1,mlx5_ib3:1,mlx5_ib4:1,mlx5_ib5:1,mlx5_ib6:1,"
            "mlx5_ib7:1");
  EXPECT_THAT(plan.notes, IsEmpty());  // its image sets NCCL_TOPO_FILE
  EXPECT_THAT(plan_text(plan, cluster), HasSubstr("mlx5_an0 is Ethernet"));
}

TEST(Fabric, HiddenSwitchesNeedATopologyFile) {
  Cluster cluster = machines({"azure-nd-a100-v4", "azure-nd-a100-v4"});
  cluster.nodes[1].facts.fabric.nccl_settings.clear();
  EXPECT_THAT(plan_of(test::list_job(), cluster).notes,
              ElementsAre("gpu02: this virtual machine does not show which GPU and port share a "
                          "PCIe switch; without NCCL_TOPO_FILE, NCCL uses no GPUDirect RDMA"));
  JobSpec spec = test::list_job();
  spec.env = {{"NCCL_TOPO_FILE", "/opt/topo.xml"}};
  EXPECT_THAT(plan_of(spec, cluster).notes, IsEmpty());
  cluster.nodes[1].facts.environment = {{"NCCL_TOPO_FILE", "/opt/topo.xml"}};
  EXPECT_THAT(plan_of(test::list_job(), cluster).notes, IsEmpty());
  // Or the file that NCCL reads if none is named [NCCL].
  EXPECT_THAT(plan_of(test::list_job(), machines({"topology-service", "topology-service"})).notes,
              IsEmpty());
}

// The VF is a part of eth0, whose addresses the kernel writes into the VF's table.
TEST(Fabric, AVfWithTheAddressesOfItsMasterIsNotTaken) {
  Cluster cluster = machines({"azure-without-infiniband", "azure-without-infiniband"});
  EXPECT_EQ(cluster.nodes[0].facts.fabric.rdma[0].ports[0].netdev, "eth0");
  JobSpec spec = test::list_job();
  spec.framework = Framework::mpi;
  spec.mpi.oversubscribe = true;
  for (const char* name : {"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "UCX_NET_DEVICES"})
    EXPECT_FALSE(env_on(plan_of(spec, cluster), 0).contains(name)) << name;
  // However few addresses are visible: one address of eth0 among others; only the card's own
  // interface.
  for (Node& node : cluster.nodes) {
    RdmaPort& port = node.facts.fabric.rdma[0].ports[0];
    port.netdev = "other0";
    for (std::size_t i = 0; i + 1 < port.gids.size(); ++i) port.gids[i].netdev = "other0";
  }
  EXPECT_TRUE(usable_ports(cluster.nodes[0].facts, RdmaPort::LinkLayer::ethernet).empty());
  cluster.nodes[0].facts.fabric.rdma[0].ports[0].gids.back().netdev = "other0";
  EXPECT_TRUE(usable_ports(cluster.nodes[0].facts, RdmaPort::LinkLayer::ethernet).empty());
}

TEST(Fabric, OmniPathIsNoInfiniBand) {
  const LaunchPlan plan = plan_of(test::list_job(), machines({"four-rails", "omni-path"}));
  EXPECT_FALSE(env_on(plan, 0).contains("NCCL_IB_HCA"));
  EXPECT_THAT(plan.notes,
              ElementsAre(HasSubstr("on gpu01 but not on gpu02 (hfi1_0 is Omni-Path)")));
}

TEST(Fabric, OneOldPortBesideEthernet) {
  const LaunchPlan plan =
      plan_of(test::list_job(), machines({"azure-nc24rs-v3", "azure-nc24rs-v3"}));
  EXPECT_EQ(env_on(plan, 0).at("NCCL_IB_HCA"), "=mlx4_0:1");  // [Azure]
}

TEST(Fabric, RoceWithItsIndex) {
  const LaunchPlan plan = plan_of(test::list_job(), machines({"roce-v2", "roce-v2-uneven"}));
  EXPECT_EQ(env_on(plan, 0).at("NCCL_IB_HCA"),
            "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1");
  // [NCCL] RoCE v2 and IPv4 unless NCCL_IB_ROCE_VERSION_NUM and NCCL_IB_ADDR_FAMILY say otherwise.
  EXPECT_EQ(env_on(plan, 0).at("NCCL_IB_GID_INDEX"), "3");
  // One variable cannot name two indexes.
  EXPECT_FALSE(env_on(plan, 1).contains("NCCL_IB_GID_INDEX"));
  EXPECT_TRUE(env_on(plan, 1).contains("NCCL_IB_HCA"));
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("gpu02: NCCL_IB_GID_INDEX is not set, because RoCE "
                                                "v2 is at index 3 of mlx5_0 and 5 of mlx5_7")));
  const Cluster cluster = machines({"roce-v2", "roce-v2-uneven"});
  EXPECT_THAT(plan_text(plan, cluster),
              HasSubstr("NCCL_IB_GID_INDEX=3\n               on gpu01: "));
}

TEST(Fabric, PortsThatAreDownOrSlowAreSaid) {
  const LaunchPlan down = plan_of(test::list_job(), machines({"four-rails", "port-down"}));
  EXPECT_EQ(env_on(down, 0).at("NCCL_IB_HCA"), "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1");
  // The GPU beside it has lost its port: all ACTIVE ports are used, as NCCL would [IB].
  EXPECT_EQ(env_on(down, 1).at("NCCL_IB_HCA"), "=mlx5_0:1,mlx5_1:1,mlx5_3:1");
  EXPECT_THAT(down.notes, ElementsAre("gpu02: mlx5_2/1 is down (Polling)"));
  const LaunchPlan slow = plan_of(test::list_job(), machines({"half-rate", "four-rails"}));
  EXPECT_EQ(env_on(slow, 0).at("NCCL_IB_HCA"), "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1");
  EXPECT_THAT(slow.notes, ElementsAre("gpu01: mlx5_1/1 runs at 100 Gb/s, others at 200 Gb/s"));
}

TEST(Fabric, ARailWithoutAnAddressIsSaid) {
  LaunchPlan plan = plan_of(test::list_job(), machines({"roce-without-ipv4", "roce-v2"}));
  EXPECT_EQ(env_on(plan, 0).at("NCCL_IB_HCA"), "=mlx5_0:1,mlx5_1:1,mlx5_3:1");
  const char* const said =
      "gpu01: mlx5_2/1 (ens3np0) is ACTIVE beside a GPU, but has no RoCE v2 address over IPv4: "
      "NCCL_IB_HCA does not include it";
  EXPECT_THAT(plan.notes, ElementsAre(said));
  // Even where no port can be used.
  Cluster cluster = machines({"roce-without-ipv4", "roce-v2"});
  for (RdmaDevice& device : cluster.nodes[0].facts.fabric.rdma) {
    if (device.name != "mlx5_2") device.ports.clear();
  }
  plan = plan_of(test::list_job(), cluster);
  EXPECT_FALSE(env_on(plan, 0).contains("NCCL_IB_HCA"));
  EXPECT_THAT(plan.notes, ElementsAre(said));
  // If there is InfiniBand, RoCE is not used.
  EXPECT_THAT(plan_of(test::list_job(), machines({"dgx-h100", "dgx-h100"})).notes, IsEmpty());
}

TEST(Fabric, TwoGenerationsAndLinkLayers) {
  const LaunchPlan plan = plan_of(test::list_job(), machines({"mixed-cx6-cx7", "mixed-cx6-cx7"}));
  // Without "=", mlx5_1 would also mean mlx5_10 and mlx5_11 [NCCL].
  EXPECT_EQ(env_on(plan, 0).at("NCCL_IB_HCA"), "=mlx5_1:1,mlx5_10:1");
}

TEST(Fabric, OnlyOneOfTheNodesHasIt) {
  const LaunchPlan plan = plan_of(test::list_job(), machines({"four-rails", "no-rdma"}));
  EXPECT_FALSE(env_on(plan, 0).contains("NCCL_IB_HCA"));
  EXPECT_THAT(
      plan.notes,
      ElementsAre(
          "InfiniBand can be used on gpu01 but not on gpu02 (no RDMA device: "
          "/sys/class/infiniband does not exist, and there is no RDMA card on the "
          "PCI bus): NCCL may hang or fail; to run without InfiniBand: --env NCCL_IB_DISABLE=1"));
  EXPECT_THAT(plan_of(test::list_job(), machines({"four-rails", "container-without-files"})).notes,
              ElementsAre(HasSubstr("(its file in /dev/infiniband is missing")));
}

TEST(Fabric, NothingIsSetWhereNothingIsKnownOrNeeded) {
  for (const std::vector<std::string>& shapes :
       {std::vector<std::string>{"dgx-h100"},  // one node: NVLink and memory
        {"no-rdma", "no-rdma"},
        {"container", "container"},
        {"omni-path", "omni-path"},
        {"azure-without-infiniband", "azure-without-infiniband"},
        {"driver-without-device", "driver-without-device"}}) {
    const LaunchPlan plan = plan_of(test::list_job(), machines(shapes));
    const Environment env = env_on(plan, 0);
    for (const char* name : {"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_NET_GDR_LEVEL"})
      EXPECT_FALSE(env.contains(name)) << shapes.front() << ' ' << name;
    EXPECT_THAT(plan.notes, IsEmpty());
  }
  Cluster assumed = machines({"dgx-h100", "dgx-h100"});
  assumed.is_assumed = true;
  EXPECT_TRUE(plan_fabric(assumed, 2, false).notes.empty());
  EXPECT_FALSE(plan_fabric(assumed, 2, false).nodes[0].nccl_ib_hca.has_value());
}

TEST(Fabric, MpiIsToldByUcxsName) {
  JobSpec spec = test::list_job();
  spec.framework = Framework::mpi;
  spec.mpi.oversubscribe = true;
  const LaunchPlan plan = plan_of(spec, machines({"mixed-cx6-cx7", "mixed-cx6-cx7"}));
  EXPECT_EQ(env_on(plan, 0).at("UCX_NET_DEVICES"), "mlx5_1:1,mlx5_10:1");  // [UCX]
  EXPECT_EQ(env_on(plan, 0).at("NCCL_IB_HCA"), "=mlx5_1:1,mlx5_10:1");  // Horovod, CUDA-aware MPI
  spec.env = {{"UCX_NET_DEVICES", "all"}};
  EXPECT_EQ(
      env_on(plan_of(spec, machines({"mixed-cx6-cx7", "mixed-cx6-cx7"})), 0).at("UCX_NET_DEVICES"),
      "all");
}

TEST(Fabric, UcxKeepsItsTcpBesideRoceAndItsOwnChoices) {
  JobSpec spec = test::list_job();
  spec.framework = Framework::mpi;
  spec.mpi.oversubscribe = true;
  // Over RoCE the list would disable TCP, without which ranks may not find each other.
  const LaunchPlan roce = plan_of(spec, machines({"roce-v2", "roce-v2"}));
  EXPECT_TRUE(env_on(roce, 0).contains("NCCL_IB_HCA"));
  EXPECT_FALSE(env_on(roce, 0).contains("UCX_NET_DEVICES"));
  // NCCL's variables do not affect UCX; its own transports may need other devices.
  const Cluster cluster = machines({"mixed-cx6-cx7", "mixed-cx6-cx7"});
  spec.env = {{"NCCL_IB_DISABLE", "1"}};
  EXPECT_EQ(env_on(plan_of(spec, cluster), 0).at("UCX_NET_DEVICES"), "mlx5_1:1,mlx5_10:1");
  spec.env = {{"UCX_TLS", "tcp"}};
  EXPECT_FALSE(env_on(plan_of(spec, cluster), 0).contains("UCX_NET_DEVICES"));
}

// NCCL reads the job's own file on the nodes, and variables would override it.
TEST(Fabric, AFileOfTheJobIsNotOverruled) {
  Cluster cluster = machines({"azure-nd-a100-v4", "azure-nd-a100-v4"});
  for (std::size_t i = 0; i < 2; ++i) {
    cluster.nodes[i].facts.fabric.nccl_settings.clear();
    cluster.nodes[i].facts.interfaces = {{"eth0",
                                          NetworkInterface::Kind::physical,
                                          true,
                                          1000,
                                          1500,
                                          "",
                                          {{"10.0.0." + std::to_string(i + 1), 24}}}};
  }
  JobSpec spec = test::list_job();
  EXPECT_TRUE(env_on(plan_of(spec, cluster), 0).contains("NCCL_SOCKET_IFNAME"));
  const auto expect_none = [&] {
    const LaunchPlan plan = plan_of(spec, cluster);
    for (const auto& [name, value] : env_on(plan, 0))
      EXPECT_TRUE(!name.starts_with("NCCL_") || name == "NCCL_CONF_FILE") << name << '=' << value;
    EXPECT_THAT(plan.notes, IsEmpty());  // it may name NCCL_TOPO_FILE
  };
  spec.env = {{"NCCL_CONF_FILE", "/shared/nccl.conf"}};
  expect_none();
  spec.env.clear();
  spec.framework = Framework::tensorflow;
  spec.roles = {test::role("worker", 2)};
  spec.roles[0].env = {{"NCCL_CONF_FILE", "/shared/nccl.conf"}};
  expect_none();
}

TEST(Fabric, PortsOfARoleHaveTheirOwnIndex) {
  JobSpec spec = test::list_job();
  spec.framework = Framework::tensorflow;
  spec.roles = {test::role("worker", 2)};
  spec.roles[0].env = {{"NCCL_IB_HCA", "mlx5_8"}};
  const LaunchPlan plan = plan_of(spec, machines({"roce-v2", "roce-v2"}));
  EXPECT_EQ(env_on(plan, 0).at("NCCL_IB_HCA"), "mlx5_8");
  EXPECT_FALSE(env_on(plan, 0).contains("NCCL_IB_GID_INDEX"));
}

TEST(Fabric, WhatAnybodyElseHasSetStays) {
  Cluster cluster = machines({"roce-v2", "roce-v2"});
  JobSpec spec = test::list_job();
  // The job chooses other ports, so our index may not apply.
  spec.env = {{"NCCL_IB_HCA", "mlx5"}};
  EXPECT_EQ(env_on(plan_of(spec, cluster), 0).at("NCCL_IB_HCA"), "mlx5");
  EXPECT_FALSE(env_on(plan_of(spec, cluster), 0).contains("NCCL_IB_GID_INDEX"));
  // Another network.
  for (const char* name : {"NCCL_IB_DISABLE", "NCCL_NET"}) {
    spec.env = {{name, "1"}};
    EXPECT_FALSE(env_on(plan_of(spec, cluster), 0).contains("NCCL_IB_HCA")) << name;
  }
  spec.env.clear();
  // The launcher's environment, on its own machine only.
  PlanContext context = test::fake_context();
  context.launcher_env = {{"NCCL_IB_HCA", "mlx5_9"}};
  EXPECT_EQ(env_on(plan_of(spec, cluster, context), 0).at("NCCL_IB_HCA"), "mlx5_9");
  EXPECT_THAT(env_on(plan_of(spec, cluster, context), 1).at("NCCL_IB_HCA"), HasSubstr("=mlx5_0:1"));
  // A login, and NCCL's own files, which a variable would override; a login overrides the file.
  cluster.nodes[1].facts.fabric.nccl_settings = {{"NCCL_IB_HCA", "mlx5_7"}};
  LaunchPlan plan = plan_of(spec, cluster);
  EXPECT_EQ(env_on(plan, 1).at("NCCL_IB_HCA"), "mlx5_7");
  EXPECT_FALSE(env_on(plan, 1).contains("NCCL_IB_GID_INDEX"));
  EXPECT_THAT(plan_text(plan, cluster), HasSubstr("NCCL_IB_HCA=mlx5_7"));
  EXPECT_THAT(plan_text(plan, cluster), HasSubstr("on gpu02: kept: set in NCCL's own file"));
  cluster.nodes[1].facts.environment = {{"NCCL_IB_HCA", "mlx5_5"}};
  plan = plan_of(spec, cluster);
  EXPECT_EQ(env_on(plan, 1).at("NCCL_IB_HCA"), "mlx5_5");
}

TEST(Fabric, TheInterfaceToo) {
  // NCCL_SOCKET_IFNAME of a file stays, too: ours would override it.
  Cluster cluster = machines({"no-rdma", "no-rdma"});
  for (std::size_t i = 0; i < 2; ++i) {
    cluster.nodes[i].facts.interfaces = {{"eth0",
                                          NetworkInterface::Kind::physical,
                                          true,
                                          1000,
                                          1500,
                                          "",
                                          {{"10.0.0." + std::to_string(i + 1), 24}}}};
  }
  cluster.nodes[1].facts.fabric.nccl_settings = {{"NCCL_SOCKET_IFNAME", "bond"}};
  const LaunchPlan plan = plan_of(test::list_job(), cluster);
  EXPECT_EQ(env_on(plan, 0).at("NCCL_SOCKET_IFNAME"), "=eth0");  // [NCCL] "=": the exact name
  EXPECT_EQ(env_on(plan, 1).at("NCCL_SOCKET_IFNAME"), "bond");
}

TEST(FabricPorts, RoceThatIsNotSureIsLeftAlone) {
  // The GPUs are elsewhere, so nothing distinguishes the fast ports from the one for management.
  Cluster cluster = machines({"roce-v2", "roce-v2"});
  for (Node& node : cluster.nodes) {
    for (GpuFact& gpu : node.facts.gpus) gpu.pci_path.clear();
  }
  const LaunchPlan plan = plan_of(test::list_job(), cluster);
  EXPECT_FALSE(env_on(plan, 0).contains("NCCL_IB_HCA"));
  EXPECT_THAT(plan.notes,
              Contains("gpu01: NCCL_IB_HCA is not set, because its RoCE ports differ in "
                       "speed, and none is known to belong to the GPUs"));
}

TEST(FabricPorts, WhichAddressOfATableIsRoutable) {
  RdmaPort port;
  EXPECT_EQ(roce_v2_index(port), -1);
  port.gids = {{0, RdmaGid::Type::v1, "0000:0000:0000:0000:0000:ffff:0a01:0104", ""},
               {1, RdmaGid::Type::roce_v2, "fe80:0000:0000:0000:0000:0000:0000:0001", ""},
               {2, RdmaGid::Type::roce_v2, "0000:0000:0000:0000:0000:ffff:a9fe:0001", ""},
               {7, RdmaGid::Type::roce_v2, "0000:0000:0000:0000:0000:ffff:0a01:0104", ""}};
  EXPECT_EQ(roce_v2_index(port), 7);
  EXPECT_EQ(rate_text(400000), "400 Gb/s");
  EXPECT_EQ(rate_text(2500), "2.5 Gb/s");
}

TEST(FabricPorts, ManyNotesAreCutShort) {
  Cluster cluster = machines({"port-down"});
  for (int i = 0; i < 9; ++i) cluster.nodes.push_back(cluster.nodes.front());
  const FabricPlan plan = plan_fabric(cluster, 10, false);
  ASSERT_EQ(plan.notes.size(), 5U);
  EXPECT_THAT(plan.notes.back(), HasSubstr("and 6 more such notes"));
}

}  // namespace
}  // namespace dlaunch
