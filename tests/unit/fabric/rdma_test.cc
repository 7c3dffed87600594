// Single devices and ports; whole machines are in tests/data/fabric/shapes.py.
#include "fabric/rdma.h"

#include <gmock/gmock.h>

#include <sys/stat.h>

#include <filesystem>

#include "fixture_tree.h"
#include "shapes.h"

namespace dlaunch::fabric {
namespace {

using LinkLayer = RdmaPort::LinkLayer;
using State = RdmaPort::State;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> names(const FabricFacts& facts) {
  std::vector<std::string> names;
  for (const RdmaDevice& device : facts.rdma) names.push_back(device.name);
  return names;
}

const RdmaDevice& named(const FabricFacts& facts, const std::string& name) {
  static const RdmaDevice none = [] {
    RdmaDevice device;
    device.ports.resize(1);
    return device;
  }();
  for (const RdmaDevice& device : facts.rdma) {
    if (device.name == name) return device;
  }
  ADD_FAILURE() << "no device " << name;
  return none;
}

TEST(Rdma, EightRailsAndStorage) {
  const FabricFacts facts = facts_of("dgx-h100");
  EXPECT_THAT(names(facts),
              ElementsAre("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6",
                          "mlx5_7", "mlx5_8", "mlx5_9", "mlx5_10", "mlx5_11"));
  const RdmaDevice& first = named(facts, "mlx5_0");
  EXPECT_EQ(first.type, "CA");
  EXPECT_EQ(first.guid, "b83f:d203:0000:1d2a");
  EXPECT_EQ(first.firmware, "28.39.1002");
  EXPECT_EQ(first.card, "ConnectX-7");
  EXPECT_EQ(first.driver, "mlx5_core");
  EXPECT_EQ(first.pci_address, "0000:18:00.0");
  EXPECT_EQ(first.pci_path, "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:18:00.0");
  EXPECT_EQ(first.numa, 0);
  EXPECT_EQ(named(facts, "mlx5_11").numa, 1);
  EXPECT_EQ(first.function, PciFunction::physical);
  EXPECT_TRUE(first.is_usable);
  ASSERT_EQ(first.ports.size(), 1U);
  EXPECT_EQ(first.ports[0],
            (RdmaPort{1,
                      LinkLayer::infiniband,
                      State::active,
                      "LinkUp",
                      400000,
                      4,
                      "NDR",
                      10,
                      1,
                      "ibp24s0",
                      {{0, RdmaGid::Type::v1, "fe80:0000:0000:0000:b83f:d203:000a:1d2a", ""}}}));
  EXPECT_EQ(facts.no_rdma, "");
  EXPECT_EQ(facts.nvswitches, 4);
  EXPECT_TRUE(facts.peer_memory);
  EXPECT_EQ(facts.gpu_driver, "550.54.15");
  EXPECT_THAT(facts.oddities, IsEmpty());
  const auto gpus = read_gpus(shape("dgx-h100"));
  ASSERT_EQ(gpus.size(), 8U);
  EXPECT_EQ(gpus[0].pci_path, "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1b:00.0");
}

TEST(Rdma, AzuresEthernetFunctionIsToldFromInfiniband) {
  const FabricFacts facts = facts_of("azure-nd-a100-v4");
  ASSERT_EQ(facts.rdma.size(), 9U);
  const RdmaDevice& ethernet = named(facts, "mlx5_an0");
  EXPECT_EQ(ethernet.ports[0].link_layer, LinkLayer::ethernet);
  EXPECT_EQ(ethernet.ports[0].state, State::active);  // so the state alone does not tell
  EXPECT_EQ(ethernet.ports[0].netdev, "enP47872s1");
  EXPECT_EQ(ethernet.function, PciFunction::virtual_function);
  const RdmaDevice& last = named(facts, "mlx5_ib7");
  EXPECT_EQ(last.card, "ConnectX-6 VF");
  EXPECT_EQ(last.function, PciFunction::virtual_function);
  EXPECT_EQ(last.pci_path, "pci0108:00/0108:00:00.0");
  EXPECT_EQ(last.numa, 3);
  EXPECT_EQ(last.ports[0].link_layer, LinkLayer::infiniband);
  EXPECT_EQ(facts.nccl_settings, (Environment{{"NCCL_IB_PCI_RELAXED_ORDERING", "1"},
                                              {"NCCL_TOPO_FILE", "/opt/microsoft/ndv4-topo.xml"}}));
  ASSERT_EQ(facts.nics.size(), 2U);
  EXPECT_EQ(facts.nics[0].name, "enP47872s1");
  EXPECT_EQ(facts.nics[0].master, "eth0");
  EXPECT_EQ(facts.nics[0].function, PciFunction::virtual_function);
  const NicFact& synthetic = facts.nics[1];
  EXPECT_EQ(synthetic.name, "eth0");
  EXPECT_EQ(synthetic.driver, "hv_netvsc");
  EXPECT_EQ(synthetic.pci_address, "");
  EXPECT_EQ(synthetic.speed_mbit, 50000U);
}

TEST(Rdma, TheTopologyThatNcclReadsByItself) {
  EXPECT_EQ(facts_of("topology-service").nccl_settings,
            (Environment{{"NCCL_TOPO_FILE", "/var/run/nvidia-topologyd/virtualTopology.xml"}}));
}

TEST(Rdma, AzureNcWithConnectX3) {
  const FabricFacts facts = facts_of("azure-nc24rs-v3");
  const RdmaDevice& infiniband = named(facts, "mlx4_0");
  EXPECT_EQ(infiniband.card, "ConnectX-3 VF");
  EXPECT_EQ(infiniband.driver, "mlx4_core");
  EXPECT_EQ(infiniband.numa, -1);
  EXPECT_EQ(infiniband.ports[0].rate_mbit, 56000U);
  EXPECT_EQ(infiniband.ports[0].speed, "FDR");
  EXPECT_EQ(named(facts, "mlx5_0").ports[0].link_layer, LinkLayer::ethernet);
}

TEST(Rdma, TableOfRoceAddresses) {
  const FabricFacts facts = facts_of("roce-v2");
  const RdmaPort& port = named(facts, "mlx5_0").ports[0];
  EXPECT_EQ(port.netdev, "ens1np0");
  EXPECT_EQ(port.lid, 0U);
  ASSERT_EQ(port.gids.size(), 4U);  // of 40
  EXPECT_EQ(port.gids[1].type, RdmaGid::Type::roce_v2);
  EXPECT_EQ(port.gids[3], (RdmaGid{3, RdmaGid::Type::roce_v2,
                                   "0000:0000:0000:0000:0000:ffff:0a01:0104", "ens1np0"}));
  const FabricFacts uneven = facts_of("roce-v2-uneven");
  EXPECT_EQ(named(uneven, "mlx5_7").ports[0].gids.back().index, 5);
}

// A table has 256 entries, each a file, and the kernel takes the first free one (cache.c,
// find_gid): entries after 16 empty ones are not read, because agents would start slowly.
TEST(Rdma, ReadingATableEndsAfterManyEmptyEntries) {
  FixtureTree tree;
  const std::string gids = "/sys/class/infiniband/mlx5_0/ports/1/gids/";
  for (int i = 0; i < 64; ++i) {
    const bool is_empty = i != 0 && i != 16 && i != 33;
    tree.file(gids + std::to_string(i), is_empty ? "0000:0000:0000:0000:0000:0000:0000:0000\n"
                                                 : "fe80:0000:0000:0000:0000:0000:0000:0001\n");
  }
  Oddities oddities;
  const auto devices = read_rdma(tree.root(), oddities);
  ASSERT_EQ(devices.size(), 1U);
  ASSERT_EQ(devices[0].ports[0].gids.size(), 2U);
  EXPECT_EQ(devices[0].ports[0].gids[1].index, 16);
}

TEST(Rdma, OmniPathIsNamed) {
  const FabricFacts facts = facts_of("omni-path");
  EXPECT_EQ(named(facts, "hfi1_0").driver, "hfi1");
  EXPECT_EQ(named(facts, "hfi1_0").ports[0].link_layer, LinkLayer::infiniband);
}

TEST(Rdma, LinksThatAreDownOrSlow) {
  const RdmaPort down = named(facts_of("port-down"), "mlx5_2").ports[0];
  EXPECT_EQ(down.state, State::down);
  EXPECT_EQ(down.physical_state, "Polling");
  EXPECT_EQ(down.lid, 0U);
  const RdmaPort slow = named(facts_of("half-rate"), "mlx5_1").ports[0];
  EXPECT_EQ(slow.rate_mbit, 100000U);
  EXPECT_EQ(slow.lanes, 2);
}

TEST(Rdma, CardsOfTwoGenerations) {
  const FabricFacts facts = facts_of("mixed-cx6-cx7");
  EXPECT_THAT(names(facts), ElementsAre("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_10"));
  EXPECT_EQ(named(facts, "mlx5_0").card, "ConnectX-6 Dx");
  EXPECT_EQ(named(facts, "mlx5_10").card, "ConnectX-7");
}

// Each in one line, because it is shown in one.
TEST(Rdma, WhyThereIsNone) {
  EXPECT_EQ(facts_of("driver-without-device").no_rdma,
            "the InfiniBand driver is loaded, but has no device");
  EXPECT_EQ(facts_of("no-rdma").no_rdma,
            "no RDMA device: /sys/class/infiniband does not exist, and there is no RDMA card on "
            "the PCI bus");
  EXPECT_EQ(facts_of("container").no_rdma,
            "a ConnectX-7 is on the PCI bus (0000:18:00.0), but there is no RDMA device: its "
            "driver (mlx5_ib) is not loaded, or this is a container that does not see it");
  EXPECT_EQ(read_fabric("/nonexistent", {}, "").no_rdma,
            "/sys is not mounted here, so nothing is known");
  EXPECT_EQ(facts_of("container").no_gpus,
            "the driver lists 1 GPU, but this process cannot open any (/dev/nvidia0, ...): a "
            "container without GPUs?");
  EXPECT_EQ(facts_of("driver-without-device").no_gpus,
            "no NVIDIA GPU on the PCI bus, and no driver");
  EXPECT_EQ(facts_of("no-rdma").no_gpus, "");
}

TEST(Rdma, DevicesWithoutFilesCannotBeUsed) {
  const FabricFacts facts = facts_of("container-without-files");
  ASSERT_EQ(facts.rdma.size(), 4U);
  for (const RdmaDevice& device : facts.rdma) EXPECT_FALSE(device.is_usable) << device.name;
}

TEST(Rdma, ASoftwareDeviceHasNoPciDevice) {
  FixtureTree tree;
  const std::string at = "/sys/class/infiniband/rxe0";
  tree.file(at + "/node_type", "1: CA\n");
  tree.file(at + "/ports/1/state", "4: ACTIVE\n");
  tree.file(at + "/ports/1/link_layer", "Ethernet\n");
  tree.file(at + "/ports/1/rate", "2.5 Gb/sec (1X)\n");
  Oddities oddities;
  const auto devices = read_rdma(tree.root(), oddities);
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].pci_address, "");
  EXPECT_EQ(devices[0].function, PciFunction::unknown);
  EXPECT_EQ(devices[0].ports[0].rate_mbit, 2500U);
  EXPECT_THAT(oddities.take(), IsEmpty());
}

TEST(Rdma, OddFilesAreToldNotTaken) {
  FixtureTree tree;
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
  tree.file(port + "state", "");
  tree.file(port + "rate", "\x1b[2J\n");
  tree.file(port + "link_layer", "Carrier pigeon\n");
  tree.file(port + "lid", std::string("0x\0\0", 4));
  tree.file("/sys/class/infiniband/bad\nname/ports/1/state", "4: ACTIVE\n");
  tree.file("/sys/class/infiniband/mlx5_1/ports/x/state", "4: ACTIVE\n");
  Oddities oddities;
  const auto devices = read_rdma(tree.root(), oddities);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].ports[0].state, State::unknown);
  EXPECT_THAT(oddities.take(),
              ElementsAre("mlx5_0/1: state is empty", "mlx5_0/1: link_layer is \"Carrier pigeon\"",
                          "mlx5_0/1: rate is not printable text", "mlx5_1 has no ports"));
}

TEST(Rdma, ReadingNeverWaitsAndIsBounded) {
  FixtureTree tree;
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
  tree.file(port + "link_layer", "InfiniBand\n");
  tree.file(port + "rate", std::string(std::size_t{4} << 20, '4'));
  ASSERT_EQ(::mkfifo((tree.root() + port + "state").c_str(), 0600), 0);
  std::filesystem::create_directory(tree.root() + port + "lid");
  for (int i = 0; i < 100; ++i)
    tree.file("/sys/class/infiniband/x" + std::to_string(i) + "/ports/1/state", "4: ACTIVE\n");
  for (int i = 0; i < 300; ++i)
    tree.file(port + "gids/" + std::to_string(i), "0000:0000:0000:0000:0000:ffff:0a01:0104\n");
  Oddities oddities;
  const auto devices = read_rdma(tree.root(), oddities);
  EXPECT_EQ(devices.size(), 64U);
  EXPECT_EQ(devices[0].name, "mlx5_0");
  EXPECT_EQ(devices[0].ports[0].gids.size(), 64U);
  EXPECT_EQ(oddities.take().size(), 16U);
}

}  // namespace
}  // namespace dlaunch::fabric
