#include "fabric/gpu_health_report.h"

#include <gmock/gmock.h>

namespace dlaunch::fabric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Names of columns and forms of values as `nvidia-smi --help-query-gpu` documents them.
const std::string kHead =
    "index, uuid, pci.bus_id, name, driver_version, memory.total [MiB], memory.used [MiB], "
    "temperature.gpu, ecc.mode.current, ecc.errors.uncorrected.volatile.total, "
    "retired_pages.double_bit.count, retired_pages.pending, power.limit [W], "
    "power.default_limit [W], pcie.link.width.current, pcie.link.width.max, "
    "clocks_event_reasons.hw_slowdown, clocks_event_reasons.hw_thermal_slowdown, "
    "clocks_event_reasons.hw_power_brake_slowdown, clocks_event_reasons.sw_thermal_slowdown, "
    "clocks_event_reasons.sw_power_cap\n";
const std::string kWell =
    "0, GPU-aa, 00000000:1B:00.0, NVIDIA H100 80GB HBM3, 550.54.15, 81559, 4, 33, Enabled, 0, "
    "[N/A], [N/A], 700.00, 700.00, 16, 16, Not Active, Not Active, Not Active, Not Active, Not "
    "Active\n";
const std::string kIll =
    "1, GPU-bb, 00010000:C3:00.0, NVIDIA H100 80GB HBM3, 550.54.15, 81559, 61203, 91, Enabled, 2, "
    "[N/A], [N/A], 300.00, 700.00, 8, 16, Active, Active, Not Active, Not Active, Active\n";

TEST(GpuHealth, OneThatIsWellAndOneThatIsNot) {
  auto gpus = parse_gpu_query(kHead + kWell + kIll);
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].bus_id, "0000:1b:00.0");
  EXPECT_EQ(gpus[1].bus_id, "10000:c3:00.0");
  EXPECT_EQ(gpus[0].model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpus[0].memory_total_mib, 81559U);
  EXPECT_EQ(gpus[0].ecc, true);
  EXPECT_FALSE(gpus[0].retired_pages.has_value());
  EXPECT_THAT(health_findings(gpus[0]), IsEmpty());
  EXPECT_THAT(gpus[1].slowed_by, ElementsAre("hw_slowdown", "hw_thermal_slowdown", "sw_power_cap"));
  add_remapped_rows(
      "gpu_uuid, remapped_rows.uncorrectable, remapped_rows.pending, remapped_rows.failure\n"
      "GPU-aa, 0, No, No\nGPU-bb, 3, Yes, No\nGPU-zz, 1, 1, 1\n",
      gpus);
  add_gpu_processes(
      "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
      "GPU-bb, 4711, python, 61199\nGPU-bb, 12, [Not Found], [N/A]\nGPU-bb, x, y, z\n",
      gpus);
  EXPECT_EQ(gpus[1].remapped_rows, 3U);
  EXPECT_THAT(health_findings(gpus[0]), IsEmpty());
  EXPECT_THAT(
      health_findings(gpus[1]),
      ElementsAre("2 uncorrected memory errors since the driver was loaded",
                  "a memory repair waits for a reset of the GPU (nvidia-smi --gpu-reset)",
                  "slowed down by heat (91 C)", "power is capped at 300 W of 700 W",
                  "PCIe runs on 8 of 16 lanes", "pid 4711 (python) holds 61199 MiB of GPU memory",
                  "pid 12 ([Not Found]) holds some GPU memory"));
}

TEST(GpuHealth, ACapThatAllHaveIsMeant) {
  auto gpus = parse_gpu_query(kHead + kWell + kIll);
  EXPECT_EQ(common_power_cap(gpus), "");
  EXPECT_EQ(common_power_cap({}), "");
  gpus[0].power_limit_w = 300;
  EXPECT_EQ(common_power_cap(gpus), "power is capped at 300 W of 700 W");
  EXPECT_THAT(health_findings(gpus[0], true), IsEmpty());
  EXPECT_THAT(health_findings(gpus[0], false), ElementsAre("power is capped at 300 W of 700 W"));
}

TEST(GpuHealth, SlowedByHardwareForAReasonWithoutAName) {
  GpuHealth gpu;
  gpu.slowed_by = {"hw_slowdown"};
  EXPECT_THAT(health_findings(gpu),
              ElementsAre("slowed down by its hardware, as it draws too much power"));
  gpu.slowed_by = {"hw_slowdown", "hw_power_brake_slowdown"};
  EXPECT_THAT(health_findings(gpu), ElementsAre("slowed down by its power supply"));
}

TEST(GpuHealth, NamesOfOlderDrivers) {
  const auto gpus = parse_gpu_query(
      "index, uuid, clocks_throttle_reasons.hw_power_brake_slowdown, retired_pages.pending\n"
      "3, GPU-cc, Active, Yes\n");
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_THAT(gpus[0].slowed_by, ElementsAre("hw_power_brake_slowdown"));
  EXPECT_TRUE(gpus[0].repair_pending);
  EXPECT_THAT(gpu_query(true)[0], HasSubstr(",clocks_throttle_reasons.hw_slowdown"));
  EXPECT_THAT(gpu_query(false)[0], HasSubstr(",clocks_event_reasons.hw_slowdown"));
}

TEST(GpuHealth, ErrorsOfNvidiaSmiAreNoGpus) {
  for (const char* text :
       {"", "\n\n", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        "Field \"clocks_event_reasons.hw_slowdown\" is not a valid field to query.\n",
        "No devices were found\n", "index, uuid\n", "index\n0\n"})
    EXPECT_THAT(parse_gpu_query(text), IsEmpty()) << text;
  // A GPU that fell off the bus while it was asked.
  EXPECT_EQ(
      parse_gpu_query("index, uuid\n0, GPU-aa\nUnable to determine the device handle\n").size(),
      1U);
}

// nvidia-smi warns on the same output, before the table.
TEST(GpuHealth, TheHeaderIsTheLineThatHasTheNames) {
  const std::string warning = "WARNING: infoROM is corrupted at gpu 0000:1B:00.0\n";
  auto gpus = parse_gpu_query(warning + kHead + kWell + warning);
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].uuid, "GPU-aa");
  add_remapped_rows(warning + "gpu_uuid, remapped_rows.pending\nGPU-aa, Yes\n", gpus);
  EXPECT_TRUE(gpus[0].repair_pending);
  add_gpu_processes(warning + "gpu_uuid, pid\nGPU-aa, 4711\n", gpus);
  EXPECT_EQ(gpus[0].processes.size(), 1U);
}

TEST(GpuHealth, FaultsInTheKernelsLog) {
  const auto events = parse_xids(
      "[    0.000000] Linux version 6.1.0\n"
      "[ 1234.567890] NVRM: Xid (PCI:0000:83:00): 79, pid='<unknown>', name=<unknown>, GPU has "
      "fallen off the bus.\n"
      "4,1771,98765432100,-;NVRM: Xid (PCI:0001:0c:00): 48, pid=12, DBE (double bit error)\n"
      "NVRM: Xid (0000:03:00): 13, Graphics Exception\n"
      "NVRM: Xid (PCI:nowhere): 13, x\nNVRM: Xid (PCI:0000:83:00) 13\nNVRM: Xid (\n"
      "NVRM: Xid (PCI:0000:83:00): x\n");
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0], (XidEvent{"0000:83:00.0", 79, 1234,
                                 "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."}));
  EXPECT_EQ(events[1].at_boot_s, 98765U);
  EXPECT_EQ(events[1].bus_id, "0001:0c:00.0");
  EXPECT_EQ(events[2].number, 13);
  EXPECT_FALSE(events[2].at_boot_s.has_value());
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += "NVRM: Xid (PCI:0000:83:00): " + std::to_string(i) + ", x\n";
  const auto last = parse_xids(many);
  ASSERT_EQ(last.size(), 64U);
  EXPECT_EQ(last.back().number, 99);
}

TEST(GpuHealth, AFaultHasAMeaning) {
  const auto text = [](int xid) { return describe(XidEvent{"0000:83:00.0", xid, {}, {}}); };
  EXPECT_EQ(text(79),
            "Xid 79 on 0000:83:00.0: the GPU has fallen off the bus: power, heat or a defect");
  EXPECT_TRUE(is_fault_of_hardware(79));
  EXPECT_EQ(text(31), "Xid 31 on 0000:83:00.0: the program accessed GPU memory that is not mapped");
  EXPECT_FALSE(is_fault_of_hardware(31));
  EXPECT_EQ(text(1000), "Xid 1000 on 0000:83:00.0");
  EXPECT_FALSE(is_fault_of_hardware(1000));
}

}  // namespace
}  // namespace dlaunch::fabric
