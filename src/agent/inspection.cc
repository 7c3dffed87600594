#include "agent/inspection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/ranks/environment_block.h"
#include "fabric/fabric_facts.h"
#include "fabric/gpu_health.h"
#include "fabric/node_facts.h"
#include "fabric/nvlink.h"
#include "model/result.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/kernel_log.h"
#include "os/proc_file.h"
#include "os/program_output.h"
#include "os/write_all.h"
#include "wire/codec.h"
#include "wire/framer.h"

extern char** environ;

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

/// Questions that have one limit together: with that of add_collectives(), within the launcher's
/// (launch/session/survey.cc).
class Smi {
 public:
  [[nodiscard]] Result<std::string> ask(std::vector<std::string> arguments) const {
    constexpr std::chrono::milliseconds kLeast{100};  // else it would only be killed
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - monotonic_now());
    if (left < kLeast) return fail(exit_code::kTimeLimit, "nvidia-smi has taken too long");
    arguments.insert(arguments.begin(), "nvidia-smi");
    return program_output(arguments, left);
  }

 private:
  MonotonicTime end_ = monotonic_now() + std::chrono::seconds(8);
};

/// Without nvidia-smi nothing is known. One that is there and hangs, or lists no GPU, tells of a
/// driver in whose hands no job ends well.
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
    return add_silence({exit_code::kPreflight, "nvidia-smi lists none of " +
                                                   std::to_string(facts.size()) + " that are here"},
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

/// Those that mean hardware, of the last day; what is older may have been repaired since.
void add_faults(NodeCondition& condition) {
  constexpr std::uint64_t kHour = 3600;
  constexpr std::uint64_t kRecent = 24 * kHour;
  const auto log = read_kernel_log("NVRM: Xid");
  if (!log) {
    condition.gpu_notes.push_back("faults (Xid) are not known: " + log.error().message);
    return;
  }
  // Both count from boot, without the time asleep.
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

/// What our own program can measure with here (cli/collectives_command.h).
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

}  // namespace

Environment probe_environment(Environment login, const wire::Inspect& question,
                              const FolderExists& exists) {
  // Ranks that measure have no other workdir (cli/fabric_run.cc).
  const EnvironmentBase base(carried_environment(std::move(login), question.carried, "/", exists),
                             {}, {}, question.env);
  return base.variables();
}

NodeCondition inspect_node(const wire::Inspect& question) {
  NodeCondition condition;
  for (const std::string& folder : question.folders) condition.disks.push_back(disk_of(folder));
  condition.shm_bytes = disk_of("/dev/shm").total_bytes;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) condition.open_files_hard = limit.rlim_max;
  std::string boot_id = read_proc_file("/proc/sys/kernel/random/boot_id");
  condition.boot_id = boot_id.substr(0, boot_id.find('\n'));
  if (question.collectives) add_collectives(question, condition);
  if (!question.gpus) return condition;
  const std::vector<GpuFact> gpus = fabric::read_gpus("");
  if (gpus.empty()) return condition;
  add_health(gpus, condition);
  add_faults(condition);
  return condition;
}

Inspection::~Inspection() {
  end_process();
}

void Inspection::begin(const wire::Inspect& question) {
  end_process();
  heard_.clear();
  NodeCondition failed;
  auto pipe = make_pipe();
  if (!pipe) {
    failed.problem = "pipe: " + errno_text(pipe.error());
    return finish(std::move(failed));
  }
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    failed.problem = "fork: " + errno_text(errno);
    return finish(std::move(failed));
  }
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    // Nothing of the agent's connection is held open by it.
    close_all_but({pipe->write.get()});
    const wire::Frame frame = wire::encode(wire::Inspected{inspect_node(question)});
    static_cast<void>(write_all(pipe->write.get(), frame.payload));
    ::_exit(0);
  }
  process_ = pid;
  answer_ = std::make_unique<WatchedFd>(loop_, std::move(pipe->read));
  answer_->on_readable([this] { hear(); });
  limit_.after(std::chrono::milliseconds(question.limit_ms), [this, question] {
    NodeCondition late;
    late.problem = "no answer within " + std::to_string(question.limit_ms / 1000) +
                   " s: a file system or nvidia-smi hangs";
    end_process();
    finish(std::move(late));
  });
}

void Inspection::hear() {
  constexpr std::size_t kMost = std::size_t{1} << 20U;
  std::array<char, 4096> bytes{};
  while (true) {
    const ssize_t n = ::read(answer_->get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return answer_->on_readable([this] { hear(); });
    if (n <= 0 || heard_.size() > kMost) break;
    heard_.append(bytes.data(), static_cast<std::size_t>(n));
  }
  wire::Frame frame = wire::encode(wire::Inspected{});
  frame.payload = std::move(heard_);
  process_ = -1;  // it has ended, or is about to: the agent reaps it
  end_process();
  auto message = wire::decode(frame);
  const auto* answer = message ? std::get_if<wire::Inspected>(&*message) : nullptr;
  if (answer != nullptr) return finish(answer->condition);
  NodeCondition failed;
  failed.problem = "the process that looks ended without an answer";
  finish(std::move(failed));
}

void Inspection::finish(NodeCondition condition) {
  limit_.cancel();
  report_(wire::Inspected{std::move(condition)});
}

/// Nobody else holds its end of the pipe: until that is closed, it lives. What hangs in the kernel
/// does not die of it; whoever ends the agent's descendants knows.
void Inspection::end_process() {
  answer_.reset();
  limit_.cancel();
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  process_ = -1;
}

}  // namespace dlaunch
