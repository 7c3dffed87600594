// AgentWatch over a process that is no agent.
#include "node/agent_watch.h"

#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dlaunch {
namespace {

/// How it ended, as its guardian sees it.
int exit_code_of(pid_t agent) {
  Progress progress;
  progress.heartbeat_ms = 10;
  progress.fence_after_ms = 2000;
  AgentWatch watch(agent, progress, {}, -1, false);
  int status = -1;
  return watch.wait(status) == AgentEnd::ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(AgentWatch, AnAgentHasEndedEvenIfAThreadOfItNeverDoes) {
  const pid_t guardian = ::fork();  // changes its title, and so its environment
  if (guardian == 0) {
    const pid_t agent = ::fork();
    if (agent == 0) {
      ::alarm(60);
      std::thread([] {
        while (true) ::pause();
      }).detach();
      ::syscall(SYS_exit, 7);  // of this thread only
    }
    const bool is_seen = exit_code_of(agent) == 7;
    const bool is_left = ::waitpid(agent, nullptr, WNOHANG) == 0;
    ::kill(agent, SIGKILL);
    ::_exit(is_seen && is_left ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(guardian, &status, 0), guardian);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace dlaunch
