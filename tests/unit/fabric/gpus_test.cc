#include <gtest/gtest.h>

#include "fixture_tree.h"

namespace dlaunch::fabric {
namespace {

// PCI addresses of an 8-GPU machine with four on each socket.
const std::vector<std::string> kBuses = {"0000:1b:00.0", "0000:43:00.0", "0000:52:00.0",
                                         "0000:61:00.0", "0000:9d:00.0", "0000:c3:00.0",
                                         "0000:d1:00.0", "0000:df:00.0"};

std::string uuid_of(int minor) {
  return "GPU-0f2a7c1e-5b3d-4e6f-8a90-0000000000" + std::to_string(10 + minor);
}

// The layout of /proc/driver/nvidia/gpus/<bus>/information.
void add_gpu(FixtureTree& tree, const std::string& bus, int minor, const std::string& uuid,
             const std::string& more = "") {
  tree.file("/proc/driver/nvidia/gpus/" + bus + "/information",
            "Model: \t\t NVIDIA H100 80GB HBM3\n"
            "IRQ:   \t\t 18\n"
            "GPU UUID: \t " +
                uuid +
                "\n"
                "Video BIOS: \t 96.00.89.00.01\n"
                "Bus Type: \t PCIe\n"
                "DMA Size: \t 52 bits\n"
                "DMA Mask: \t 0xfffffffffffff\n"
                "Bus Location: \t " +
                bus +
                "\n"
                "Device Minor: \t " +
                std::to_string(minor) +
                "\n"
                "GPU Firmware: \t 535.161.08\n" +
                more);
}

void add_device(FixtureTree& tree, int minor) {
  tree.file("/dev/nvidia" + std::to_string(minor), "");
}

void eight_gpus(FixtureTree& tree) {
  for (int i = 0; i < 8; ++i) {
    const std::string& bus = kBuses[static_cast<std::size_t>(i)];
    // Minor numbers are not in bus order.
    add_gpu(tree, bus, 7 - i, uuid_of(i), "GPU Excluded:\t No\n");
    tree.file("/sys/bus/pci/devices/" + bus + "/numa_node", i < 4 ? "0\n" : "1\n");
  }
}

TEST(Gpus, EightOnTwoNumaNodesInBusOrder) {
  FixtureTree tree;
  eight_gpus(tree);
  for (int minor = 0; minor < 8; ++minor) add_device(tree, minor);
  tree.file("/dev/nvidiactl", "");
  const std::vector<GpuFact> gpus = read_gpus(tree.root());
  ASSERT_EQ(gpus.size(), 8U);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(gpus[static_cast<std::size_t>(i)],
              (GpuFact{i, uuid_of(i), kBuses[static_cast<std::size_t>(i)], "NVIDIA H100 80GB HBM3",
                       i < 4 ? 0 : 1}));
  }
}

// NVIDIA container runtime: the driver's list is the host's, the device nodes are those granted.
// CUDA counts only these, from 0 (CUDA_DEVICE_ORDER=PCI_BUS_ID).
TEST(Gpus, AContainerSeesOnlyThoseWithADeviceNode) {
  FixtureTree tree;
  eight_gpus(tree);
  add_device(tree, 1);  // bus df's is minor 0, d1's is 1
  add_device(tree, 6);  // 43
  const std::vector<GpuFact> gpus = read_gpus(tree.root());
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0], (GpuFact{0, uuid_of(1), "0000:43:00.0", "NVIDIA H100 80GB HBM3", 0}));
  EXPECT_EQ(gpus[1], (GpuFact{1, uuid_of(6), "0000:d1:00.0", "NVIDIA H100 80GB HBM3", 1}));
}

TEST(Gpus, NoneWithoutTheDriver) {
  FixtureTree tree;
  EXPECT_TRUE(read_gpus(tree.root()).empty());
  add_device(tree, 0);
  EXPECT_TRUE(read_gpus(tree.root()).empty());
}

TEST(Gpus, WhatIsUnknownStaysEmpty) {
  FixtureTree tree;
  const std::string four(4, '?');  // in a literal they would be trigraphs
  add_gpu(tree, "0000:1b:00.0", 0,
          "GPU-" + four + four + '-' + four + '-' + four + '-' + four + '-' + four + four + four);
  tree.file("/sys/bus/pci/devices/0000:1b:00.0/numa_node", "-1\n");  // as virtual machines have it
  add_device(tree, 0);
  EXPECT_EQ(read_gpus(tree.root()),
            (std::vector<GpuFact>{{0, "", "0000:1b:00.0", "NVIDIA H100 80GB HBM3", -1}}));
  tree.remove("/sys");
  EXPECT_EQ(read_gpus(tree.root())[0].numa, -1);
}

TEST(Gpus, ExcludedAndIncompleteOnesAreLeftOut) {
  FixtureTree tree;
  add_gpu(tree, "0000:1b:00.0", 0, uuid_of(0), "GPU Excluded:\t Yes\n");
  tree.file("/proc/driver/nvidia/gpus/0000:43:00.0/information", "Model: \t\t X\n");
  tree.file("/proc/driver/nvidia/gpus/rubbish/information", "Device Minor: \t 0\n");
  add_device(tree, 0);
  EXPECT_TRUE(read_gpus(tree.root()).empty());
}

TEST(Gpus, LongDomainsSortByNumber) {
  FixtureTree tree;
  // Azure gives each GPU its own PCI domain; five digits where there are many.
  add_gpu(tree, "10000:00:00.0", 0, uuid_of(0));
  add_gpu(tree, "0002:00:00.0", 1, uuid_of(1));
  add_gpu(tree, "000B:00:00.0", 2, uuid_of(2));
  for (int minor = 0; minor < 3; ++minor) add_device(tree, minor);
  std::vector<std::string> buses;
  for (const GpuFact& gpu : read_gpus(tree.root())) buses.push_back(gpu.bus_id);
  EXPECT_EQ(buses, (std::vector<std::string>{"0002:00:00.0", "000b:00:00.0", "10000:00:00.0"}));
}

}  // namespace
}  // namespace dlaunch::fabric
