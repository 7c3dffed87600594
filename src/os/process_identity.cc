#include "os/process_identity.h"

#include <cerrno>
#include <charconv>
#include <string_view>

#include <sys/syscall.h>
#include <unistd.h>

#include "os/containment.h"
#include "os/proc_file.h"

namespace dlaunch {

ProcessIdentity identity_of(pid_t pid) {
  if (pid <= 0) return {};
  const std::string stat = read_proc_file("/proc/" + std::to_string(pid) + "/stat");
  const std::string_view state = stat_field(stat, 3);
  if (state.empty() || state == "Z" || state == "X") return {};
  const std::string_view ticks = stat_field(stat, 22);
  ProcessIdentity found{pid, 0};
  std::from_chars(ticks.data(), ticks.data() + ticks.size(), found.start_ticks);
  return found;
}

UniqueFd open_process(const ProcessIdentity& process) {
  if (process.pid <= 0 || process.start_ticks == 0) return {};
  // Opened before the check, so that the identity checked is the descriptor's.
  UniqueFd pidfd(open_pidfd(process.pid));
  return pidfd && identity_of(process.pid) == process ? std::move(pidfd) : UniqueFd();
}

int signal_process(int pidfd, int signal) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0 ? 0 : errno;
}

}  // namespace dlaunch
