// With real processes: this one has children, which it stops and ends.
#include "node/watch/process_tree.h"

#include <csignal>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

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

}  // namespace
}  // namespace dlaunch
