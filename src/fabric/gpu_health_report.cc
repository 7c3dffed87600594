#include "fabric/gpu_health_report.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "fabric/pci.h"
#include "fabric/tree.h"
#include "text/strings.h"

namespace dlaunch::fabric {

namespace {

std::vector<std::string_view> cells_of(std::string_view line) {
  constexpr std::size_t kMost = 128;
  std::vector<std::string_view> cells;
  while (cells.size() < kMost) {
    const std::size_t comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  return cells;
}

constexpr std::array kSlowdowns = {"hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown",
                                   "sw_thermal_slowdown", "sw_power_cap"};
constexpr std::string_view kNewReasons = "clocks_event_reasons.";
constexpr std::string_view kOldReasons = "clocks_throttle_reasons.";

/// Converts "00000000:1B:00.0", the form of nvidia-smi, to the form of sysfs.
std::string sysfs_address(std::string_view text) {
  const auto address = parse_pci_address(text);
  if (!address) return {};
  std::string out = lower(plain_or_empty(text, 32));
  const std::size_t colon = out.find(':');
  constexpr std::size_t kDigits = 4;
  while (out.find(':') > kDigits && out.front() == '0') out.erase(0, 1);
  return colon == std::string::npos ? std::string() : out;
}

std::vector<std::string> query(const char* option, const std::string& fields) {
  return {std::string(option) + '=' + fields, "--format=csv,nounits"};
}

bool is_yes(std::string_view text) {
  return text == "Yes" || text == "Active" || text == "Enabled" || text == "1";
}

GpuHealth health_of(const Csv& table, std::size_t row) {
  const auto number = [&](const char* name) { return number_in(table.at(row, name)); };
  GpuHealth gpu;
  gpu.index = static_cast<int>(std::min<std::uint64_t>(number("index").value_or(0), 65535));
  gpu.uuid = plain_or_empty(table.at(row, "uuid"), 64);
  gpu.bus_id = sysfs_address(table.at(row, "pci.bus_id"));
  gpu.model = plain_or_empty(table.at(row, "name"), 64);
  gpu.driver = plain_or_empty(table.at(row, "driver_version"), 32);
  gpu.memory_total_mib = number("memory.total");
  gpu.memory_used_mib = number("memory.used");
  gpu.temperature_c = number("temperature.gpu");
  const std::string_view ecc = table.at(row, "ecc.mode.current");
  if (ecc == "Enabled" || ecc == "Disabled") gpu.ecc = is_yes(ecc);
  gpu.ecc_uncorrected = number("ecc.errors.uncorrected.volatile.total");
  gpu.retired_pages = number("retired_pages.double_bit.count");
  gpu.repair_pending = is_yes(table.at(row, "retired_pages.pending"));
  for (const char* reason : kSlowdowns) {
    for (const std::string_view prefix : {kNewReasons, kOldReasons}) {
      if (is_yes(table.at(row, std::string(prefix) + reason))) gpu.slowed_by.emplace_back(reason);
    }
  }
  gpu.power_limit_w = number("power.limit");
  gpu.power_default_w = number("power.default_limit");
  gpu.pcie_width = number("pcie.link.width.current");
  gpu.pcie_width_max = number("pcie.link.width.max");
  return gpu;
}

GpuHealth* with_uuid(std::vector<GpuHealth>& gpus, std::string_view uuid) {
  const auto found = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const GpuHealth& gpu) { return gpu.uuid == uuid; });
  return found == gpus.end() || uuid.empty() ? nullptr : &*found;
}

void add_memory_findings(const GpuHealth& gpu, std::vector<std::string>& findings) {
  if (gpu.repair_failed) findings.emplace_back("no spare memory rows are left: replace the GPU");
  if (gpu.ecc_uncorrected.value_or(0) > 0)
    findings.push_back(counted(*gpu.ecc_uncorrected, "uncorrected memory error") +
                       " since the driver was loaded");
  if (gpu.repair_pending)
    findings.emplace_back("a memory repair waits for a reset of the GPU (nvidia-smi --gpu-reset)");
  constexpr std::uint64_t kMostPages = 60;  // NVIDIA, "Dynamic Page Retirement": replace at 60
  if (gpu.retired_pages.value_or(0) >= kMostPages)
    findings.push_back(counted(*gpu.retired_pages, "memory page") + " retired: replace the GPU");
}

bool is_capped(const GpuHealth& gpu) {
  return gpu.power_limit_w && gpu.power_default_w && *gpu.power_limit_w < *gpu.power_default_w;
}

std::string cap_text(const GpuHealth& gpu) {
  return "power is capped at " + std::to_string(*gpu.power_limit_w) + " W of " +
         std::to_string(*gpu.power_default_w) + " W";
}

void add_speed_findings(const GpuHealth& gpu, bool cap_is_meant,
                        std::vector<std::string>& findings) {
  const bool is_hot = contains(gpu.slowed_by, "hw_thermal_slowdown") ||
                      contains(gpu.slowed_by, "sw_thermal_slowdown");
  const bool is_braked = contains(gpu.slowed_by, "hw_power_brake_slowdown");
  if (is_hot)
    findings.push_back(
        "slowed down by heat" +
        (gpu.temperature_c ? " (" + std::to_string(*gpu.temperature_c) + " C)" : std::string()));
  if (is_braked) findings.emplace_back("slowed down by its power supply");
  // hw_slowdown is set with every hardware reason; alone, it means that the GPU drew too much
  // power.
  if (contains(gpu.slowed_by, "hw_slowdown") && !is_hot && !is_braked)
    findings.emplace_back("slowed down by its hardware, as it draws too much power");
  if (is_capped(gpu) && !cap_is_meant) findings.push_back(cap_text(gpu));
  if (gpu.pcie_width && gpu.pcie_width_max && *gpu.pcie_width < *gpu.pcie_width_max)
    findings.push_back("PCIe runs on " + std::to_string(*gpu.pcie_width) + " of " +
                       std::to_string(*gpu.pcie_width_max) + " lanes");
}

// ---- the kernel's log

/// Parses "[ 123.456789] " of dmesg(1) and "4,1234,123456789,-;" of /dev/kmsg (in microseconds).
std::optional<std::uint64_t> seconds_since_boot(std::string_view head) {
  std::uint64_t number = 0;
  if (const std::size_t open = head.find('['); open != std::string_view::npos) {
    head.remove_prefix(open + 1);
    while (head.starts_with(' ')) head.remove_prefix(1);
    const auto [stop, error] = std::from_chars(head.data(), head.data() + head.size(), number);
    const bool ok = error == std::errc() && stop != head.data() + head.size() && *stop == '.';
    return ok ? std::optional(number) : std::nullopt;
  }
  std::array<std::size_t, 2> comma{};
  comma[0] = head.find(',');
  comma[1] = comma[0] == std::string_view::npos ? comma[0] : head.find(',', comma[0] + 1);
  if (comma[1] == std::string_view::npos) return std::nullopt;
  head.remove_prefix(comma[1] + 1);
  const auto [stop, error] = std::from_chars(head.data(), head.data() + head.size(), number);
  constexpr std::uint64_t kMicroseconds = 1'000'000;
  return error == std::errc() ? std::optional(number / kMicroseconds) : std::nullopt;
}

/// The address of the faulty device, "PCI:0000:83:00" or, from old drivers, "0000:83:00".
std::string faulty_device(std::string_view inside) {
  if (inside.starts_with("PCI:")) inside.remove_prefix(4);
  const bool has_function = inside.find('.') != std::string_view::npos;
  return sysfs_address(std::string(inside) + (has_function ? "" : ".0"));
}

std::optional<XidEvent> xid_in(std::string_view line) {
  constexpr std::string_view kMark = "NVRM: Xid (";
  const std::size_t mark = line.find(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(mark + kMark.size());
  const std::size_t close = rest.find("): ");
  if (close == std::string_view::npos) return std::nullopt;
  XidEvent event;
  event.bus_id = faulty_device(rest.substr(0, close));
  rest.remove_prefix(close + 3);
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), event.number);
  if (event.bus_id.empty() || error != std::errc() || event.number < 0) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
  while (rest.starts_with(',') || rest.starts_with(' ')) rest.remove_prefix(1);
  event.text = plain_or_empty(rest.substr(0, 160), 160);
  event.at_boot_s = seconds_since_boot(line.substr(0, mark));
  return event;
}

struct Xid {
  int number = 0;
  bool is_of_hardware = false;
  std::string_view meaning;
};

// NVIDIA, "XID Errors", "Common XID Errors" and "XID Catalog".
constexpr std::array kXids{
    Xid{13, false,
        "a GPU kernel of the program did something illegal, such as an out-of-range access"},
    Xid{31, false, "the program accessed GPU memory that is not mapped"},
    Xid{32, false, "the commands that the program sent to the GPU were corrupted"},
    Xid{38, false, "the driver's firmware failed"},
    Xid{43, false, "the GPU stopped the program after an error"},
    Xid{45, false, "the driver ended the program's work on the GPU after an earlier error"},
    Xid{48, true, "a double-bit error in the GPU's memory could not be corrected (ECC)"},
    Xid{61, false, "a controller inside the GPU stopped"},
    Xid{62, true, "a controller inside the GPU halted"},
    Xid{63, false, "a defective row of the GPU's memory will be replaced at the next reset"},
    Xid{64, true, "a defective row of the GPU's memory could not be replaced"},
    Xid{68, false, "the video decoder failed"},
    Xid{69, false, "the program used a unit of the GPU in an illegal way"},
    Xid{74, true, "an NVLink failed"},
    Xid{79, true, "the GPU has fallen off the bus: power, heat or a defect"},
    Xid{92, false, "many errors in the GPU's memory were corrected (ECC)"},
    Xid{94, true, "an uncorrectable error in the GPU's memory ended this program (ECC)"},
    Xid{95, true, "an uncorrectable error in the GPU's memory may have affected any program (ECC)"},
    Xid{109, false, "the program did not yield the GPU in time"},
    Xid{119, true, "the GPU's system processor (GSP) does not answer the driver"},
    Xid{120, true, "the GPU's system processor (GSP) failed"},
    Xid{121, false, "the link between CPU and GPU reported an error"},
    Xid{140, true, "an error in the GPU's memory could not be corrected (ECC)"},
    Xid{143, false, "the GPU could not be initialised"},
    Xid{144, true, "an NVLink failed"},
    Xid{145, true, "an NVLink failed"},
    Xid{146, true, "an NVLink failed"},
    Xid{147, true, "an NVLink failed"},
    Xid{148, true, "an NVLink failed"},
    Xid{149, true, "an NVLink failed"},
    Xid{150, true, "an NVLink failed"},
    Xid{154, false, "the driver says what the GPU needs to recover, such as a reset"},
};

const Xid* find_xid(int number) {
  const auto* const found = std::find_if(kXids.begin(), kXids.end(),
                                         [number](const Xid& one) { return one.number == number; });
  return found == kXids.end() ? nullptr : found;
}

}  // namespace

Csv::Csv(std::string_view text, std::initializer_list<std::string_view> needed) {
  constexpr std::size_t kMost = 4096;
  while (!text.empty() && rows_.size() < kMost) {
    const std::string_view line = trimmed(take_line(text));
    if (line.empty()) continue;
    std::vector<std::string_view> cells = cells_of(line);
    if (names_.empty()) {
      for (const std::string_view cell : cells)
        names_.push_back(trimmed(cell.substr(0, cell.find('['))));
      const bool is_header = std::all_of(needed.begin(), needed.end(),
                                         [&](std::string_view name) { return has(name); });
      if (!is_header) names_.clear();
    } else if (cells.size() == names_.size()) {
      rows_.push_back(std::move(cells));
    }
  }
}

std::optional<std::size_t> Csv::column(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names_.begin());
}

std::string_view Csv::at(std::size_t row, std::string_view name) const {
  const auto found = column(name);
  return found ? rows_[row][*found] : std::string_view();
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop == text.data()) return std::nullopt;
  std::string_view rest(stop, static_cast<std::size_t>(end - stop));
  if (rest.starts_with('.')) rest.remove_prefix(1);
  const bool is_fraction =
      std::all_of(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_fraction ? std::optional(number) : std::nullopt;
}

std::vector<std::string> gpu_query(bool old_names) {
  std::string fields =
      "index,uuid,pci.bus_id,name,driver_version,memory.total,memory.used,temperature.gpu,"
      "ecc.mode.current,ecc.errors.uncorrected.volatile.total,retired_pages.double_bit.count,"
      "retired_pages.pending,power.limit,power.default_limit,pcie.link.width.current,"
      "pcie.link.width.max";
  for (const char* reason : kSlowdowns)
    fields.append(",").append(old_names ? kOldReasons : kNewReasons).append(reason);
  return query("--query-gpu", fields);
}

std::vector<std::string> remapped_rows_query() {
  return query("--query-remapped-rows",
               "gpu_uuid,remapped_rows.uncorrectable,remapped_rows.pending,remapped_rows.failure");
}

std::vector<std::string> gpu_processes_query() {
  return query("--query-compute-apps", "gpu_uuid,pid,process_name,used_gpu_memory");
}

std::vector<GpuHealth> parse_gpu_query(std::string_view csv) {
  constexpr std::size_t kMost = 64;
  const Csv table(csv, {"index", "uuid"});
  std::vector<GpuHealth> gpus;
  for (std::size_t row = 0; row < table.rows() && gpus.size() < kMost; ++row)
    gpus.push_back(health_of(table, row));
  return gpus;
}

void add_remapped_rows(std::string_view csv, std::vector<GpuHealth>& gpus) {
  const Csv table(csv, {"gpu_uuid"});
  for (std::size_t row = 0; row < table.rows(); ++row) {
    GpuHealth* const gpu = with_uuid(gpus, table.at(row, "gpu_uuid"));
    if (gpu == nullptr) continue;
    gpu->remapped_rows = number_in(table.at(row, "remapped_rows.uncorrectable"));
    if (is_yes(table.at(row, "remapped_rows.pending"))) gpu->repair_pending = true;
    gpu->repair_failed = is_yes(table.at(row, "remapped_rows.failure"));
  }
}

void add_gpu_processes(std::string_view csv, std::vector<GpuHealth>& gpus) {
  constexpr std::size_t kMost = 64;
  const Csv table(csv, {"gpu_uuid"});
  for (std::size_t row = 0; row < table.rows(); ++row) {
    GpuHealth* const gpu = with_uuid(gpus, table.at(row, "gpu_uuid"));
    const auto pid = number_in(table.at(row, "pid"));
    constexpr std::uint64_t kMostPid = 1U << 22U;  // PID_MAX_LIMIT, proc(5)
    if (gpu == nullptr || !pid || *pid > kMostPid || gpu->processes.size() == kMost) continue;
    gpu->processes.push_back({static_cast<int>(*pid),
                              plain_or_empty(table.at(row, "process_name"), 256),
                              number_in(table.at(row, "used_gpu_memory"))});
  }
}

std::vector<XidEvent> parse_xids(std::string_view kernel_log) {
  constexpr std::size_t kMost = 64;
  std::vector<XidEvent> events;
  while (!kernel_log.empty()) {
    const std::size_t newline = kernel_log.find('\n');
    if (auto event = xid_in(kernel_log.substr(0, newline))) events.push_back(*std::move(event));
    if (newline == std::string_view::npos) break;
    kernel_log.remove_prefix(newline + 1);
  }
  if (events.size() > kMost)
    events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(kMost));
  return events;
}

std::string describe(const XidEvent& fault) {
  const Xid* const known = find_xid(fault.number);
  return "Xid " + std::to_string(fault.number) + " on " + fault.bus_id +
         (known == nullptr ? "" : ": " + std::string(known->meaning));
}

bool is_fault_of_hardware(int xid) {
  const Xid* const found = find_xid(xid);
  return found != nullptr && found->is_of_hardware;
}

std::string common_power_cap(const std::vector<GpuHealth>& gpus) {
  if (gpus.empty() || !is_capped(gpus.front())) return {};
  const bool all_alike = std::all_of(gpus.begin(), gpus.end(), [&](const GpuHealth& gpu) {
    return gpu.power_limit_w == gpus.front().power_limit_w &&
           gpu.power_default_w == gpus.front().power_default_w;
  });
  return all_alike ? cap_text(gpus.front()) : std::string();
}

std::vector<std::string> health_findings(const GpuHealth& gpu, bool cap_is_meant) {
  std::vector<std::string> findings;
  add_memory_findings(gpu, findings);
  add_speed_findings(gpu, cap_is_meant, findings);
  for (const GpuProcess& process : gpu.processes) {
    findings.push_back("pid " + std::to_string(process.pid) +
                       (process.name.empty() ? "" : " (" + process.name + ")") + " holds " +
                       (process.memory_mib
                            ? std::to_string(*process.memory_mib) + " MiB of GPU memory"
                            : "some GPU memory"));
  }
  return findings;
}

}  // namespace dlaunch::fabric
