// The health of a GPU according to nvidia-smi and the kernel's log.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch {

/// A process of any user that computes on a GPU.
struct GpuProcess {
  int pid = 0;
  std::string name;
  std::optional<std::uint64_t> memory_mib;
  bool operator==(const GpuProcess&) const = default;
};

/// One NVLink of a GPU.
struct NvLink {
  int number = 0;
  bool active = false;
  std::optional<std::uint64_t> mbyte_s{};  // in one direction, if active and reported
  bool operator==(const NvLink&) const = default;
};

/// The state of a GPU's NVLinks. A card without a bridge to another one has links, too: all are
/// inactive, which is not a fault.
struct NvLinks {
  enum class State { not_asked, none, listed, all_inactive };  // none: the GPU has no NVLink
  State state = State::not_asked;
  std::vector<NvLink> links;  // when listed, ascending by number
  [[nodiscard]] int active() const {
    return static_cast<int>(
        std::count_if(links.begin(), links.end(), [](const NvLink& link) { return link.active; }));
  }
  bool operator==(const NvLinks&) const = default;
};

/// nullopt: the GPU does not report the value.
struct GpuHealth {
  int index = 0;
  std::string uuid;
  std::string bus_id;  // "0000:1b:00.0", as GpuFact has it
  std::string model;
  std::string driver;
  std::optional<std::uint64_t> memory_total_mib, memory_used_mib;
  std::optional<std::uint64_t> temperature_c;
  std::optional<bool> ecc;
  std::optional<std::uint64_t> ecc_uncorrected;  // since the driver was loaded
  std::optional<std::uint64_t> retired_pages;    // for double bit errors; before A100
  std::optional<std::uint64_t> remapped_rows;    // for uncorrectable errors; since A100
  bool repair_pending = false;                   // a page or row waits for a reset of the GPU
  bool repair_failed = false;                    // no spare rows are left
  std::vector<std::string> slowed_by;            // "hw_thermal_slowdown", "sw_power_cap", ...
  std::optional<std::uint64_t> power_limit_w, power_default_w;
  std::optional<std::uint64_t> pcie_width, pcie_width_max;
  std::vector<GpuProcess> processes;
  NvLinks nvlinks;
  bool operator==(const GpuHealth&) const = default;
};

/// A fault that the NVIDIA driver wrote to the kernel's log.
struct XidEvent {
  std::string bus_id;  // "0000:83:00.0"
  int number = 0;      // 79: fallen off the bus, 48: double bit ECC error, ...
  std::optional<std::uint64_t> at_boot_s{};  // seconds since boot
  std::string text;                          // what follows the number, at most 160 characters
  bool operator==(const XidEvent&) const = default;
};

}  // namespace dlaunch
