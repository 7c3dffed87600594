#include "os/containment.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/unique_fd.h"

namespace dlaunch {
namespace {

/// Runs `body` in a child, because it becomes a subreaper and reaps everything; true if
/// it returned true.
bool in_child(bool (*body)()) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// A process that starts a session, forks twice, ignores TERM and HUP, and reports its pid. The
/// process in between has been reaped when this returns, so the daemon is our child for good, and
/// one look at the tree cannot miss it.
pid_t start_daemon() {
  auto pipe = make_pipe();
  const pid_t between = ::fork();
  if (between == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    ::signal(SIGTERM, SIG_IGN);
    ::signal(SIGHUP, SIG_IGN);
    const pid_t self = ::getpid();
    if (::write(pipe->write.get(), &self, sizeof self) != sizeof self) ::_exit(1);
    while (true) ::pause();
  }
  ::waitpid(between, nullptr, 0);
  pid_t daemon = 0;
  return ::read(pipe->read.get(), &daemon, sizeof daemon) == sizeof daemon ? daemon : 0;
}

TEST(Containment, DaemonsAreFoundAndKilled) {
  EXPECT_TRUE(in_child([] {
    become_subreaper();
    const pid_t daemon = start_daemon();
    if (daemon == 0 || ::kill(daemon, 0) != 0) return false;
    return kill_descendants(std::chrono::seconds(10)) && ::kill(daemon, 0) != 0;
  }));
}

TEST(Containment, SparedOnesLive) {
  EXPECT_TRUE(in_child([] {
    become_subreaper();
    const pid_t spared = start_daemon();
    const pid_t other = start_daemon();
    const auto killed = kill_descendants_once({spared});
    const bool right = std::find(killed.begin(), killed.end(), other) != killed.end() &&
                       std::find(killed.begin(), killed.end(), spared) == killed.end() &&
                       ::kill(spared, 0) == 0;
    return kill_descendants(std::chrono::seconds(10)) && right;
  }));
}

TEST(Containment, NothingToDoIsDoneAtOnce) {
  EXPECT_TRUE(in_child([] {
    bool none_left = false;
    return !reap_one(none_left) && none_left && kill_descendants(std::chrono::seconds(0)) &&
           descendants().empty();
  }));
}

}  // namespace
}  // namespace dlaunch
