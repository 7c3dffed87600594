#include "node/inspection.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fabric/fabric_facts.h"
#include "fabric/gpu_health_report.h"
#include "fabric/node_facts.h"
#include "fabric/nvlink.h"
#include "model/result.h"
#include "node/folder_speed.h"
#include "node/ranks/environment_block.h"
#include "os/clock.h"
#include "os/kernel_log.h"
#include "os/proc_file.h"
#include "os/program_output.h"
#include "os/random.h"
#include "text/number.h"
#include "text/strings.h"
#include "wire/value.h"

namespace dlaunch {

namespace {

DiskFact disk_of(const std::string& path) {
  DiskFact disk;
  disk.path = path;
  struct statvfs room {};
  if (::statvfs(path.c_str(), &room) != 0) {
    disk.problem = errno_text(errno);
    return disk;
  }
  disk.free_bytes = std::uint64_t{room.f_bavail} * room.f_frsize;
  disk.total_bytes = std::uint64_t{room.f_blocks} * room.f_frsize;
  disk.is_read_only = (room.f_flag & ST_RDONLY) != 0;
  return disk;
}

/// Calls of nvidia-smi with one common time limit. It fits into the launcher's limit
/// (launch/session/preparation.cc) together with those of add_collectives() and add_code(), and a
/// second for each program that has to be killed (RunningProgram).
class Smi {
 public:
  [[nodiscard]] Result<std::string> ask(std::vector<std::string> arguments) const {
    constexpr std::chrono::milliseconds kLeast{100};  // in less time it would only be killed
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - monotonic_now());
    if (left < kLeast) return fail(exit_code::kTimeLimit, "nvidia-smi took too long");
    arguments.insert(arguments.begin(), "nvidia-smi");
    return program_output(arguments, left);
  }

 private:
  MonotonicTime end_ = monotonic_now() + std::chrono::seconds(8);
};

/// A missing nvidia-smi is only a note. One that hangs or lists no GPU is a finding: jobs fail with
/// such a driver.
void add_silence(const Error& why, NodeCondition& condition) {
  const bool is_absent =
      why.exit_code == exit_code::kNotFound || why.exit_code == exit_code::kCannotExecute;
  (is_absent ? condition.gpu_notes : condition.gpu_findings)
      .push_back("the health of the GPUs is not known: " + why.message);
}

void add_findings(GpuHealth& gpu, const std::vector<std::string>& of_links, bool cap_is_meant,
                  NodeCondition& condition) {
  const std::string name = "GPU " + std::to_string(gpu.index) + ": ";
  GpuHealth held;
  held.processes = std::exchange(gpu.processes, {});
  for (const std::string& finding : fabric::health_findings(gpu, cap_is_meant))
    condition.gpu_findings.push_back(name + finding);
  for (const std::string& finding : of_links) condition.gpu_findings.push_back(name + finding);
  for (const std::string& finding : fabric::health_findings(held))
    condition.gpu_processes.push_back(name + finding);
}

void add_health(const std::vector<GpuFact>& facts, NodeCondition& condition) {
  const Smi smi;
  std::vector<GpuHealth> gpus;
  for (const bool old_names : {false, true}) {
    const auto answer = smi.ask(fabric::gpu_query(old_names));
    if (!answer) return add_silence(answer.error(), condition);
    gpus = fabric::parse_gpu_query(*answer);
    if (!gpus.empty()) break;
  }
  if (gpus.empty()) {
    return add_silence({exit_code::kPreflight, "nvidia-smi lists no GPU, but this node has " +
                                                   std::to_string(facts.size())},
                       condition);
  }
  if (const auto rows = smi.ask(fabric::remapped_rows_query()))
    fabric::add_remapped_rows(*rows, gpus);
  if (const auto processes = smi.ask(fabric::gpu_processes_query()))
    fabric::add_gpu_processes(*processes, gpus);
  if (const auto links = smi.ask(fabric::nvlink_query())) fabric::add_nvlinks(*links, gpus);
  const auto of_links =
      fabric::nvlink_findings(gpus, fabric::read_fabric("", facts, "").nvswitches);
  const std::string cap = fabric::common_power_cap(gpus);
  if (!cap.empty()) condition.gpu_notes.push_back(cap + " on all GPUs");
  for (std::size_t i = 0; i < gpus.size(); ++i)
    add_findings(gpus[i], of_links[i], !cap.empty(), condition);
}

/// Xid events of the last day that indicate broken hardware; older ones may have been repaired.
void add_faults(NodeCondition& condition) {
  constexpr std::uint64_t kHour = 3600;
  constexpr std::uint64_t kRecent = 24 * kHour;
  const auto log = read_kernel_log("NVRM: Xid");
  if (!log) {
    condition.gpu_notes.push_back("faults (Xid) are not known: " + log.error().message);
    return;
  }
  // Both clocks count from boot, without suspended time.
  const auto now = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(monotonic_now()).count());
  for (const XidEvent& fault : fabric::parse_xids(*log)) {
    const std::optional<std::uint64_t> age =
        fault.at_boot_s ? std::optional(now - std::min(now, *fault.at_boot_s)) : std::nullopt;
    const std::string text =
        "Xid " + std::to_string(fault.number) + " on " + fault.bus_id +
        (age ? ", " + std::to_string(*age / kHour) + " h ago" : std::string()) +
        (fault.text.empty() ? "" : ": " + fault.text);
    const bool is_bad = fabric::is_fault_of_hardware(fault.number) && (!age || *age < kRecent);
    (is_bad ? condition.gpu_findings : condition.gpu_notes).push_back(text);
  }
}

/// Adds the collectives that our own program can measure here (cli/commands.h).
void add_collectives(const wire::Inspect& question, NodeCondition& condition) {
  constexpr std::chrono::seconds kLimit{10};
  const Environment environment =
      probe_environment(environment_from_block(environ), question, folder_exists);
  const auto said =
      program_output({"/proc/self/exe", "collectives", "--probe"}, kLimit, &environment);
  std::string_view rest = said ? std::string_view(*said) : std::string_view();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    condition.collectives.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

/// The folders to read, each once.
std::vector<std::string> code_folders(const wire::Inspect& question) {
  std::vector<std::string> folders;
  const auto add = [&](std::string folder) {
    if (!folder.empty() && !contains(folders, folder)) folders.push_back(std::move(folder));
  };
  for (const std::string& folder : question.code) add(folder);
  for (const std::string& program : question.programs) add(environment_of(program));
  return folders;
}

/// Where a sample of a local disk may be.
std::vector<std::string> sample_folders() {
  const char* temporary = ::getenv("TMPDIR");
  return {temporary == nullptr ? "" : temporary, "/tmp", "/var/tmp", "/dev/shm"};
}

/// Adds how quickly code is found and read, and for comparison the same on a local disk.
void add_code(const wire::Inspect& question, const std::string& sample, NodeCondition& condition) {
  constexpr std::chrono::milliseconds kTime{2500};
  condition.code = read_folders(code_folders(question), kTime);
  if (!condition.code.empty()) condition.local = read_local_sample(sample_folders(), sample);
}

/// "0.52 0.61 ...", proc(5); 0: unreadable.
std::uint32_t load_hundredths(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) return 0;
  const auto whole = number_of<std::uint32_t>(text.substr(0, point));
  const auto hundredths = number_of<std::uint32_t>(text.substr(point + 1, 2));
  return whole && hundredths ? *whole * 100 + *hundredths : 0;
}

}  // namespace

Environment probe_environment(Environment login, const wire::Inspect& question,
                              const FolderExists& exists) {
  // The workdir of ranks that measure is "/" (measure/run/measured_run.cc).
  const EnvironmentBase base(carried_environment(std::move(login), question.carried, "/", exists),
                             {}, {}, question.env);
  return base.variables();
}

NodeCondition inspect_node(const wire::Inspect& question, const std::string& sample) {
  NodeCondition condition;
  for (const std::string& folder : question.folders) condition.disks.push_back(disk_of(folder));
  add_code(question, sample, condition);
  condition.shm_bytes = disk_of("/dev/shm").total_bytes;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) condition.open_files_hard = limit.rlim_max;
  std::string boot_id = read_proc_file("/proc/sys/kernel/random/boot_id");
  condition.boot_id = boot_id.substr(0, boot_id.find('\n'));
  condition.load_hundredths = load_hundredths(read_proc_file("/proc/loadavg"));
  if (question.collectives) add_collectives(question, condition);
  if (!question.gpus) return condition;
  const std::vector<GpuFact> gpus = fabric::read_gpus("");
  if (gpus.empty()) return condition;
  add_health(gpus, condition);
  add_faults(condition);
  return condition;
}

void Inspection::begin(const wire::Inspect& question) {
  if (process_.is_under_way()) remove_sample();
  sample_ = random_name("dlaunch-check-");
  const auto limit = std::chrono::milliseconds(question.limit_ms);
  process_.begin(
      [question, sample = sample_] { return wire::encode_value(inspect_node(question, sample)); },
      limit,
      [this, question](Result<std::string> said) {
        if (!said) remove_sample();
        report_(answer(question, std::move(said)));
      });
}

void Inspection::remove_sample() {
  constexpr std::chrono::seconds kLimit{5};
  process_.cancel();
  left_.push_back(sample_);
  remover_.begin(
      [left = left_] {
        for (const std::string& sample : left) remove_local_sample(sample_folders(), sample);
        return std::string("removed");
      },
      kLimit, [this](const Result<std::string>&) { left_.clear(); });
}

wire::Inspected Inspection::answer(const wire::Inspect& question, Result<std::string> said) {
  NodeCondition failed;
  if (!said) {
    failed.problem = said.error().message;
    if (said.error().exit_code == exit_code::kTimeLimit)
      failed.problem = "no answer within " + std::to_string(question.limit_ms / 1000) +
                       " s: a file system or nvidia-smi hangs";
    return wire::Inspected{std::move(failed)};
  }
  if (auto condition = wire::decode_value<NodeCondition>(*said))
    return wire::Inspected{*std::move(condition)};
  failed.problem = "the inspecting process ended without an answer";
  return wire::Inspected{std::move(failed)};
}

}  // namespace dlaunch
