#include "measure/check/local_check.h"

#include <algorithm>

#include "fabric/gpu_health_report.h"
#include "plan/visible_gpus.h"
#include "text/json_text.h"
#include "text/plain_text.h"
#include "text/strings.h"
#include "text/table.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

using speed::GpuSpeed;

constexpr std::size_t kLabel = 10;

std::string figure(double value) {
  return value > 0 ? three_digits(value) : "-";
}

struct Measured {
  const char* name;
  const char* unit;
  double GpuSpeed::*value;
};
constexpr Measured kMeasured[] = {
    {"copies to it", "GB/s", &GpuSpeed::to_device_gbyte_s},
    {"copies from it", "GB/s", &GpuSpeed::to_host_gbyte_s},
    {"copies within it", "GB/s", &GpuSpeed::within_gbyte_s},
    {"float32 products", "TFLOP/s", &GpuSpeed::float32_tflop_s},
    {"float16 products", "TFLOP/s", &GpuSpeed::float16_tflop_s},
};

double median_of(const std::vector<GpuSpeed>& gpus, const std::string& model,
                 double GpuSpeed::*value) {
  std::vector<double> values;
  for (const GpuSpeed& gpu : gpus) {
    if (gpu.model == model && gpu.*value > 0) values.push_back(gpu.*value);
  }
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The number that nvidia-smi gives to a GPU, which may differ from CUDA's. nullopt: nvidia-smi
/// does not list it (a MIG slice, or CUDA did not report its uuid).
std::optional<int> index_of(const MachineInfo& info, const std::string& uuid) {
  if (uuid.empty()) return std::nullopt;
  for (const GpuHealth& gpu : info.health) {
    if (gpu.uuid == uuid) return gpu.index;
  }
  for (const GpuFact& gpu : info.facts.gpus) {
    if (gpu.uuid == uuid) return gpu.index;
  }
  return std::nullopt;
}

/// "gpu 3", or "CUDA's gpu 0".
std::string gpu_name(const LocalCheck& check, std::size_t i) {
  const auto index = index_of(check.info, check.speed->gpus[i].uuid);
  return index ? "gpu " + std::to_string(*index) : "CUDA's gpu " + std::to_string(i);
}

/// Adds a finding if CUDA can use fewer GPUs than are visible to it.
void add_unusable_gpus(const LocalCheck& check, std::vector<std::string>& findings) {
  const speed::LocalSpeed& speed = *check.speed;
  if (speed.gpus_not_tried) return;
  const auto visible = visible_gpus(check.info.facts, check.info.facts.cuda_visible_devices);
  const bool sliced =
      std::any_of(visible.begin(), visible.end(), [](const VisibleGpu& gpu) { return gpu.is_mig; });
  const std::size_t most = sliced ? 1 : visible.size();  // CUDA shows only the first MIG slice
  if (speed.gpus.size() >= most) return;
  findings.push_back("CUDA can use " + std::to_string(speed.gpus.size()) + " of " +
                     counted(most, "GPU") + (speed.no_gpus.empty() ? "" : ": " + speed.no_gpus));
}

/// GPUs that are slower than others of their model in this machine. GPUs of one model differ by a
/// few per cent; copies to GPUs of another socket by more.
void add_slow_gpus(const LocalCheck& check, std::vector<std::string>& findings) {
  constexpr double kSlow = 0.7;
  const std::vector<GpuSpeed>& gpus = check.speed->gpus;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (const Measured& one : kMeasured) {
      const double value = gpus[i].*one.value;
      const double usual = median_of(gpus, gpus[i].model, one.value);
      if (value <= 0 || value >= kSlow * usual) continue;
      findings.push_back(gpu_name(check, i) + ": " + one.name + " reach " + figure(value) + ' ' +
                         one.unit + ", other GPUs " + figure(usual));
    }
  }
}

void add_speed_findings(const LocalCheck& check, std::vector<std::string>& findings) {
  const speed::LocalSpeed& speed = *check.speed;
  add_unusable_gpus(check, findings);
  if (!speed.cpu.is_right)
    findings.emplace_back("the CPU computed a wrong matrix product: a CPU or its memory is broken");
  for (std::size_t i = 0; i < speed.gpus.size(); ++i) {
    const std::string gpu = gpu_name(check, i) + ": ";
    if (!speed.gpus[i].problem.empty()) findings.push_back(gpu + speed.gpus[i].problem);
    if (!speed.gpus[i].is_right) findings.push_back(gpu + "it computed or copied wrong numbers");
  }
  add_slow_gpus(check, findings);
}

void add_health_findings(const MachineInfo& info, std::vector<std::string>& findings) {
  for (std::size_t i = 0; i < info.findings.size() && i < info.health.size(); ++i) {
    for (const std::string& finding : info.findings[i])
      findings.push_back("gpu " + std::to_string(info.health[i].index) + ": " + finding);
  }
  if (info.health_hangs) findings.push_back("the GPU driver does not answer: " + info.no_health);
  if (info.health_fails) findings.push_back(info.no_health);
  for (const XidEvent& fault : info.faults) {
    if (!fabric::is_fault_of_hardware(fault.number)) continue;
    findings.push_back("Xid " + std::to_string(fault.number) + " on " + fault.bus_id +
                       (fault.text.empty() ? "" : ": " + fault.text));
  }
}

void add_one_rank_findings(const LocalCheck& check, std::vector<std::string>& findings) {
  if (!check.one_rank || check.one_rank->is_late) return;
  const LocalCheck::OneRank& rank = *check.one_rank;
  if (!rank.problem.empty()) {
    findings.push_back("NCCL cannot be used, even with one rank: " + rank.problem);
  } else if (rank.wrong > 0) {
    findings.push_back("NCCL copied " + decimals(rank.wrong, 0) +
                       " elements incorrectly within a GPU");
  }
}

/// The text says that the figure is not that of a link.
std::string one_rank_text(const LocalCheck::OneRank& rank) {
  if (!rank.problem.empty()) return "one rank: not measured: " + rank.problem;
  return "an all_reduce of one rank, a copy within the GPU: " + figure(rank.gbyte_s) + " GB/s";
}

void write_one_rank(JsonText& json, const LocalCheck& check) {
  json.line(2).key("nccl_one_rank");
  if (!check.one_rank) {
    json.null();
    return;
  }
  const LocalCheck::OneRank& rank = *check.one_rank;
  json.begin_object().key("library").string(rank.library).key("is_a_copy").boolean(true);
  json.key("gbyte_s").real(rank.gbyte_s);
  json.key("wrong").number(static_cast<std::int64_t>(rank.wrong));
  json.key("problem").string(rank.problem).end_object();
}

void add_line(std::string& out, std::string label, std::string_view text) {
  label.resize(std::max(label.size() + 1, kLabel), ' ');
  append_wrapped(out, label, std::string(kLabel, ' '), plain_line(text));
}

void add_cpu(std::string& out, const LocalCheck& check) {
  if (!check.speed) return add_line(out, "speed", "not measured: " + check.no_speed);
  const speed::CpuSpeed& cpu = check.speed->cpu;
  add_line(out, "cpu",
           figure(cpu.all_gflop_s) + " GFLOP/s float32 on " + counted(cpu.threads, "thread") +
               ", " + figure(cpu.one_gflop_s) + " on one; memory " +
               (cpu.memory_bytes == 0 ? "not measured (too little is free)"
                                      : figure(cpu.memory_gbyte_s) + " GB/s"));
}

void add_gpu_table(std::string& out, const LocalCheck& check) {
  const std::vector<GpuSpeed>& gpus = check.speed->gpus;
  std::vector<Cells> rows = {{"gpu", "to it", "from it", "within", "float32", "float16", "model"}};
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto index = index_of(check.info, gpus[i].uuid);
    Cells row = {index ? std::to_string(*index) : "CUDA " + std::to_string(i)};
    for (const Measured& one : kMeasured) row.push_back(figure(gpus[i].*one.value));
    row.push_back(cut_to_columns(plain_line(gpus[i].model), 30));
    rows.push_back(std::move(row));
  }
  rows.push_back({"", "GB/s", "GB/s", "GB/s", "TFLOP/s", "TFLOP/s", ""});
  out += table_text(rows, 2, rows.front().size() - 1);
}

void write_speed(JsonText& json, const LocalCheck& check) {
  json.line(2).key("cpu");
  if (!check.speed) {
    json.null().line(2).key("gpus").begin_array().end_array();
    return;
  }
  const speed::CpuSpeed& cpu = check.speed->cpu;
  json.begin_object().key("threads").number(cpu.threads).key("one_gflop_s").real(cpu.one_gflop_s);
  json.key("all_gflop_s").real(cpu.all_gflop_s).key("memory_gbyte_s");
  cpu.memory_bytes == 0 ? json.null() : json.real(cpu.memory_gbyte_s);
  json.key("is_right").boolean(cpu.is_right).end_object();
  json.line(2).key("gpus").begin_array();
  for (const GpuSpeed& gpu : check.speed->gpus) {
    const auto index = index_of(check.info, gpu.uuid);
    json.line(4).begin_object().key("index");
    index ? json.number(*index) : json.null();
    write_figures(json, gpu);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::vector<std::string> local_findings(const LocalCheck& check) {
  std::vector<std::string> findings;
  const std::size_t gpus = check.info.facts.gpus.size();
  if (check.expected_gpus && *check.expected_gpus != gpus) {
    const std::string& why = check.info.facts.fabric.no_gpus;
    findings.push_back(std::to_string(gpus) + " GPUs found, " +
                       std::to_string(*check.expected_gpus) + " expected" +
                       (gpus == 0 && !why.empty() ? ": " + why : ""));
  }
  add_health_findings(check.info, findings);
  if (check.speed) {
    add_speed_findings(check, findings);
  } else if (!check.speed_is_late) {
    findings.push_back("the speed of this machine could not be measured: " + check.no_speed);
  }
  add_one_rank_findings(check, findings);
  return findings;
}

std::string local_check_text(const LocalCheck& check) {
  std::string out = info_text(check.info);
  add_cpu(out, check);
  if (check.speed && !check.speed->gpus.empty()) {
    add_gpu_table(out, check);
  } else if (check.speed && !check.speed->no_gpus.empty()) {
    add_line(out, "gpu speed", "not measured: " + check.speed->no_gpus);
  }
  for (const LocalCheck::Part& part : check.parts) add_line(out, part.name, part.says);
  if (check.one_rank) add_line(out, "nccl copy", one_rank_text(*check.one_rank));
  const auto findings = local_findings(check);
  const std::string time = " (" + decimals(check.seconds, 1) + " s)";
  add_line(out, "verdict",
           findings.empty() ? "ok" + time : "BAD, " + counted(findings.size(), "finding") + time);
  for (const std::string& finding : findings) add_line(out, "", finding);
  return out;
}

std::string local_check_json(const LocalCheck& check) {
  std::string out;
  JsonText json(out);
  const auto findings = local_findings(check);
  json.begin_object().line(2).key("format").number(1);
  json.line(2).key("verdict").string(findings.empty() ? "ok" : "bad");
  json.line(2).key("findings").begin_array();
  for (const std::string& finding : findings) json.line(4).string(finding);
  json.end_array();
  json.line(2).key("seconds").real(check.seconds);
  write_speed(json, check);
  write_one_rank(json, check);
  json.line(2).key("no_speed").string_or_null(check.no_speed);
  json.line(2).key("no_gpu_speed").string_or_null(check.speed ? check.speed->no_gpus : "");
  json.line(2).key("parts").begin_object();
  for (const LocalCheck::Part& part : check.parts) json.key(part.name).string(part.says);
  json.end_object().line(0).end_object();
  // The output of `dlaunch info --json` as a member.
  out.erase(out.rfind('\n'));
  std::string machine = info_json(check.info);
  while (machine.ends_with('\n')) machine.pop_back();
  return out + ",\n  \"machine\": " + machine + "\n}\n";
}

}  // namespace dlaunch
