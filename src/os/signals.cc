#include "os/signals.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include <sys/signalfd.h>
#include <unistd.h>

#include "os/clock.h"

namespace dlaunch {

namespace {

sigset_t set_of(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : signals) sigaddset(&set, signal);
  return set;
}

bool read_info(int signal_fd, signalfd_siginfo& info) {
  return ::read(signal_fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info);
}

}  // namespace

void take_all_signals() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  // Forks of this process inherit what it has reset.
  static bool are_standard = false;
  if (std::exchange(are_standard, true)) return;
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    if (is_ignored(signal)) sigaction(signal, &standard, nullptr);
  }
}

void block_signals(const std::vector<int>& signals) {
  const sigset_t set = set_of(signals);
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

bool is_ignored(int signal) {
  struct sigaction current = {};
  return sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

Result<UniqueFd> open_signal_fd(const std::vector<int>& signals) {
  const sigset_t set = set_of(signals);
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail_errno(exit_code::kInternal, "signalfd", errno);
  return fd;
}

int read_signal(int signal_fd) {
  signalfd_siginfo info;
  return read_info(signal_fd, info) ? static_cast<int>(info.ssi_signo) : 0;
}

int RepeatedSignals::read(int signal_fd) {
  constexpr std::chrono::milliseconds kRepeat{100};
  signalfd_siginfo info;
  while (read_info(signal_fd, info)) {
    const int number = static_cast<int>(info.ssi_signo);
    const MonotonicTime now = monotonic_now();
    const bool is_same = number == number_ && info.ssi_code == SI_USER;
    if (is_same && now - at_ < kRepeat) continue;
    number_ = number;
    at_ = now;
    return number;
  }
  return 0;
}

}  // namespace dlaunch
