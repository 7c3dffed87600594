#include "os/stuck.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "os/blocked_call.h"
#include "os/containment.h"
#include "os/proc_file.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostNamed = 4;

std::string folder_of(pid_t pid, pid_t thread) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + '/';
}

std::optional<pid_t> stuck_thread(pid_t pid) {
  for (const pid_t thread : threads_of(pid)) {
    const std::string stat = read_proc_file(folder_of(pid, thread) + "stat");
    if (stat_field(stat, 3) == "D") return thread;
  }
  return std::nullopt;
}

/// Decodes the octal escapes of mountinfo: "\040".
std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string digits(text.substr(std::min(i + 1, text.size()), 3));
    const bool octal = text[i] == '\\' && digits.size() == 3 &&
                       digits.find_first_not_of("01234567") == std::string::npos;
    result += octal ? static_cast<char>(std::strtol(digits.c_str(), nullptr, 8)) : text[i];
    if (octal) i += 3;
  }
  return result;
}

std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

bool lies_in(std::string_view path, std::string_view mount) {
  if (mount == "/") return path.starts_with('/');
  return path.starts_with(mount) && (path.size() == mount.size() || path[mount.size()] == '/');
}

/// " for ext4 at /data (/dev/sdb1) (state D, percpu_rwsem_wait)"
std::string awaited_by(const StuckProcess& process) {
  std::string text = " for " + (process.file_system.empty() ? "the kernel" : process.file_system);
  text += " (state D";
  if (!process.wait_channel.empty()) text += ", " + process.wait_channel;
  return text + ')';
}

/// "a", "a and b", "a, b, c, d and 2 more"
std::string listed(const std::vector<std::string>& words) {
  const std::size_t shown = std::min(words.size(), kMostNamed);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == words.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + words[i];
  }
  if (words.size() > shown) text += " and " + std::to_string(words.size() - shown) + " more";
  return text;
}

}  // namespace

char state_of(pid_t pid) {
  const std::string stat = read_proc_file("/proc/" + std::to_string(pid) + "/stat");
  const std::string_view state = stat_field(stat, 3);
  return state.empty() ? '\0' : state.front();
}

std::vector<StuckProcess> find_stuck(const std::vector<pid_t>& pids) {
  std::vector<StuckProcess> stuck;
  for (const pid_t pid : pids) {
    const auto thread = stuck_thread(pid);
    if (!thread) continue;
    StuckProcess one{pid, {}, {}, {}};
    one.name = read_proc_file("/proc/" + std::to_string(pid) + "/comm", 64);
    if (one.name.ends_with('\n')) one.name.pop_back();
    one.wait_channel = read_proc_file(folder_of(pid, *thread) + "wchan", 128);
    if (one.wait_channel == "0") one.wait_channel.clear();
    const BlockedCall call = blocked_call(pid, *thread);
    if (!call.file.empty()) one.file_system = file_system_of(call.file);
    stuck.push_back(std::move(one));
  }
  return stuck;
}

bool are_beyond_kill(const std::vector<pid_t>& pids) {
  return std::all_of(pids.begin(), pids.end(), [](pid_t pid) {
    const char state = state_of(pid);
    return state == '\0' || state == 'Z' || state == 'X' || stuck_thread(pid).has_value();
  });
}

std::string describe(const StuckProcess& process) {
  return describe(std::vector<StuckProcess>{process});
}

std::string describe(const std::vector<StuckProcess>& processes) {
  std::map<std::string, std::vector<std::string>> waiting;  // for what -> who
  for (const StuckProcess& process : processes) {
    waiting[awaited_by(process)].push_back("pid " + std::to_string(process.pid) + " (" +
                                           process.name + ')');
  }
  std::string text;
  for (const auto& [what, who] : waiting)
    text +=
        (text.empty() ? "" : "; ") + listed(who) + (who.size() == 1 ? " waits" : " wait") + what;
  return text;
}

std::string file_system_of(std::string_view path, std::string_view mountinfo) {
  // "36 35 98:0 /root /mount opts optional... - type source superopts"; a later mount hides those
  // before it.
  std::string best;
  std::size_t best_size = 0;
  while (!mountinfo.empty()) {
    std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(mountinfo.size(), line.size() + 1));
    for (int skipped = 0; skipped < 4; ++skipped) (void)take_word(line);
    const std::string mount = unescaped(take_word(line));
    if (mount.empty() || mount.size() < best_size || !lies_in(path, mount)) continue;
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    line.remove_prefix(dash + 3);
    const std::string type(take_word(line));
    const std::string source = unescaped(take_word(line));
    best = type + " at " + mount + (source.empty() || source == "none" ? "" : " (" + source + ')');
    best_size = mount.size();
  }
  return best;
}

bool has_mount_below(std::string_view path, std::string_view mountinfo) {
  while (!mountinfo.empty()) {
    std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(mountinfo.size(), line.size() + 1));
    for (int skipped = 0; skipped < 4; ++skipped) (void)take_word(line);
    const std::string mount = unescaped(take_word(line));
    if (mount != path && lies_in(mount, path)) return true;
  }
  return false;
}

std::string file_system_of(std::string_view path) {
  return file_system_of(path, read_proc_file("/proc/self/mountinfo"));
}

}  // namespace dlaunch
