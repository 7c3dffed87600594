// With real processes: this one has children, which it stops and ends.
#include "node/watch/process_tree.h"

#include <chrono>
#include <csignal>

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"

namespace dlaunch {
namespace {

class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::pause();
    ::_exit(0);
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }
  void stop() const {
    ::kill(pid_, SIGSTOP);
    ::waitpid(pid_, nullptr, WUNTRACED);
  }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  pid_t pid_;
};

TEST(ProcessTree, CountsAProcessAndItsChildren) {
  Child child;
  ProcessTree tree(::getpid());
  RankPulse rank;
  tree.look(Depth::brief, rank);
  EXPECT_EQ(rank.processes, 1U) << "children are looked for now and then";
  tree.look(Depth::counters, rank);
  EXPECT_EQ(rank.processes, 2U);
  EXPECT_GT(rank.memory, std::uint64_t{1} << 20);
  EXPECT_GT(rank.io_bytes, 0U);
  EXPECT_EQ(rank.state, "R");
  child.end();
  tree.look(Depth::brief, rank);
  EXPECT_EQ(rank.processes, 1U);
}

TEST(ProcessTree, TellsThatTheFirstProcessIsStoppedAndThatItIsGone) {
  Child child;
  ProcessTree tree(child.pid());
  child.stop();
  RankPulse rank;
  tree.look(Depth::whole, rank);
  EXPECT_EQ(rank.state, "T");
  const std::uint64_t cpu = rank.cpu_ms;
  child.end();
  tree.look(Depth::whole, rank);
  EXPECT_EQ(rank.state, "");
  EXPECT_EQ(rank.processes, 0U);
  EXPECT_GE(rank.cpu_ms, cpu);
}

TEST(ProcessTree, TellsHowLongOneOfThemWaitedForACpu) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    for (volatile bool runs = true; runs;) {
    }
    ::_exit(0);
  }
  ProcessTree tree(::getpid());
  for (int times = 0; times < 2; ++times) {  // the second with a first to compare with
    EXPECT_EQ(tree.waited().count() > 0, times > 0);
    const MonotonicTime end = monotonic_now() + std::chrono::milliseconds(300);
    while (monotonic_now() < end) {
    }
  }
  EXPECT_GT(tree.waited(), std::chrono::milliseconds(30));
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  (void)::sched_setaffinity(0, sizeof before, &before);
}

}  // namespace
}  // namespace dlaunch
