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

TEST(AgentWatch, AnAgentHasEndedEvenIfAThreadOfItNeverDoes) {
  const pid_t agent = ::fork();
  if (agent == 0) {
    ::alarm(60);
    std::thread([] {
      while (true) ::pause();
    }).detach();
    ::syscall(SYS_exit, 7);  // of this thread only
  }
  Progress progress;
  progress.heartbeat_ms = 10;
  progress.fence_after_ms = 2000;
  AgentWatch watch(agent, progress, {}, -1, false);
  int status = -1;
  EXPECT_EQ(watch.wait(status), AgentEnd::ended);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(::waitpid(agent, nullptr, WNOHANG), 0) << "the kernel says that it has ended";
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
}

}  // namespace
}  // namespace dlaunch
