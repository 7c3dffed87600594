#include "os/oom_watch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "os/cgroup.h"
#include "os/clock.h"
#include "os/proc_file.h"

namespace dlaunch {

namespace {

constexpr const char* kMemoryV1 = "/sys/fs/cgroup/memory";
// After a long uptime the kernel log's clock (local_clock) may differ this much from the monotonic
// one. The comparison only has to tell a process from a much earlier one with the same pid.
constexpr std::chrono::seconds kClockTolerance{60};

bool is_readable(const std::string& path) {
  return ::access(path.c_str(), R_OK) == 0;
}

/// Innermost first; `top` is the last one.
std::vector<std::string> with_ancestors(std::string folder, const std::string& top) {
  std::vector<std::string> folders;
  while (folder.size() > top.size() && folder.starts_with(top)) {
    folders.push_back(folder);
    folder.resize(folder.rfind('/'));
  }
  folders.push_back(top);
  return folders;
}

void add_v2(const std::string& cgroup, OomSources& sources) {
  const auto own = cgroup.empty() ? own_cgroup_folder() : std::optional(cgroup);
  if (!own) return;
  const std::string unified = "/sys/fs/cgroup/unified";
  const bool hybrid = own->starts_with(unified);
  for (const std::string& folder : with_ancestors(*own, hybrid ? unified : "/sys/fs/cgroup")) {
    // Ancestors count "oom_kill" too, so the nearest folder with the controller is enough.
    if (sources.counter.empty() && is_readable(folder + "/memory.events"))
      sources.counter = folder + "/memory.events";
    sources.limits.push_back(folder + "/memory.max");
  }
}

void add_v1(OomSources& sources) {
  const auto path = cgroup_path(read_proc_file("/proc/self/cgroup"), "memory");
  if (!path) return;
  std::string folder = kMemoryV1 + *path;
  // In a container the path may be the host's, while its own cgroup is mounted at the root.
  if (!is_readable(folder + "/memory.oom_control")) folder = kMemoryV1;
  if (!is_readable(folder + "/memory.oom_control")) return;
  sources.counter = folder + "/memory.oom_control";
  for (const std::string& each : with_ancestors(folder, kMemoryV1))
    sources.limits.push_back(each + "/memory.limit_in_bytes");
}

/// Whether the pids of this /proc are those of the initial PID namespace, as in the kernel log.
bool is_initial_proc(int outer_proc) {
  if (outer_proc < 0) {
    constexpr ino_t kInitial = 0xEFFFFFFC;  // PROC_PID_INIT_INO, include/linux/proc_ns.h
    struct stat info {};
    return ::stat("/proc/self/ns/pid", &info) == 0 && info.st_ino == kInitial;
  }
  // A foreign namespace cannot be identified, but only the initial one contains kthreadd as pid 2.
  return read_proc_file("/proc/self/fd/" + std::to_string(outer_proc) + "/2/comm") == "kthreadd\n";
}

}  // namespace

OomSources find_oom_sources(const std::string& cgroup, int outer_proc) {
  OomSources sources;
  add_v2(cgroup, sources);
  if (sources.counter.empty()) {
    sources.limits.clear();
    add_v1(sources);
  }
  if (is_initial_proc(outer_proc)) sources.kernel_log = "/dev/kmsg";
  return sources;
}

void OomWatch::begin() {
  attributed_ = count();
  began_ = std::chrono::duration_cast<std::chrono::microseconds>(monotonic_now());
}

std::string OomWatch::evidence(pid_t pid) {
  const std::optional<OomKill> logged = logged_kill(pid);
  const bool counted = count() > attributed_;
  if (!logged && !counted) return "";
  if (counted) ++attributed_;
  return describe_oom(logged, limit());
}

std::uint64_t OomWatch::count() const {
  if (sources_.counter.empty()) return 0;
  return keyed_number(read_proc_file(sources_.counter), "oom_kill").value_or(0);
}

std::optional<OomKill> OomWatch::logged_kill(pid_t pid) {
  read_log();
  const auto found = logged_.find(pid);
  if (found == logged_.end() || !is_of_this_attempt(found->second.at)) return std::nullopt;
  return found->second;
}

bool OomWatch::is_of_this_attempt(std::optional<std::chrono::microseconds> at) const {
  return at && *at >= began_ - kClockTolerance;
}

std::string OomWatch::driver_faults() {
  read_log();
  return std::exchange(driver_faults_, {});
}

void OomWatch::read_log() {
  if (sources_.kernel_log.empty()) return;
  // EPERM without CAP_SYSLOG if kernel.dmesg_restrict is set.
  if (!log_) log_.reset(::open(sources_.kernel_log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!log_) return sources_.kernel_log.clear();
  const MonotonicTime began = monotonic_now();
  const MonotonicTime deadline = began + time_left_;
  std::array<char, 8192> record;  // CONSOLE_EXT_LOG_MAX of the kernel; one read(2), one record
  while (monotonic_now() < deadline) {
    const ssize_t size = ::read(log_.get(), record.data(), record.size());
    if (size < 0 && (errno == EPIPE || errno == EINTR)) continue;  // EPIPE: overwritten
    if (size <= 0) break;
    const std::string_view text(record.data(), static_cast<std::size_t>(size));
    if (const auto kill = parse_oom_kill(text)) logged_.insert_or_assign(kill->pid, *kill);
    if (text.find("NVRM: Xid") != std::string_view::npos &&
        is_of_this_attempt(kernel_wrote_at(text)))
      driver_faults_.append(text.substr(0, text.find('\n'))).append("\n");
  }
  time_left_ -= monotonic_now() - began;
}

std::optional<std::uint64_t> OomWatch::limit() const {
  std::optional<std::uint64_t> smallest;
  for (const std::string& file : sources_.limits) {
    const auto one = memory_limit(read_proc_file(file));
    if (one) smallest = std::min(smallest.value_or(*one), *one);
  }
  return smallest;
}

}  // namespace dlaunch
