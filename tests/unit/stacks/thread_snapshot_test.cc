#include "os/thread_snapshot.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <functional>
#include <new>
#include <string>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "os/clock.h"
#include "os/proc_file.h"

namespace dlaunch {
namespace {

constexpr std::chrono::milliseconds kLimit{5000};

/// Memory that forked processes share.
std::atomic<std::uint64_t>& shared_counter() {
  void* const page =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (page) std::atomic<std::uint64_t>(0);
}

class Child {
 public:
  explicit Child(const std::function<void()>& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    body();
    ::_exit(0);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, __WALL);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::string state() const {
    const std::string stat = read_proc_file("/proc/" + std::to_string(pid_) + "/stat", 4096);
    return std::string(stat_field(stat, 3));
  }
  [[nodiscard]] bool is_traced() const {
    const std::string status = read_proc_file("/proc/" + std::to_string(pid_) + "/status", 8192);
    return status.find("\nTracerPid:\t0\n") == std::string::npos;
  }

 private:
  pid_t pid_;
};

bool holds_in_time(const std::function<bool()>& holds) {
  const MonotonicTime end = monotonic_now() + std::chrono::seconds(10);
  while (!holds()) {
    if (monotonic_now() > end) return false;
    ::usleep(200);
  }
  return true;
}

/// Lets `tracer` run for `steps` stops at the entry or the exit of a system call and kills it
/// there. False: it has ended before.
bool kill_after(const std::function<void()>& tracer, int steps) {
  const Child child([&] {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    tracer();
  });
  int status = 0;
  ::waitpid(child.pid(), &status, 0);
  for (int i = 0; i < steps; ++i) {
    if (::ptrace(PTRACE_SYSCALL, child.pid(), nullptr, nullptr) != 0) return false;
    ::waitpid(child.pid(), &status, 0);
    if (!WIFSTOPPED(status)) return false;
  }
  return true;
}

void expect_that_it_runs_on(const Child& target, const std::atomic<std::uint64_t>& counter,
                            int step) {
  EXPECT_TRUE(holds_in_time([&] { return !target.is_traced(); })) << "step " << step;
  const std::uint64_t before = counter;
  EXPECT_TRUE(holds_in_time([&] { return counter > before; })) << "step " << step;
}

TEST(ThreadSnapshot, ATracerThatIsKilledAtAnyStepLeavesItsTargetRunning) {
  std::atomic<std::uint64_t>& counter = shared_counter();
  const Child target([&] {
    while (true) ++counter;
  });
  ASSERT_TRUE(holds_in_time([&] { return counter > 0; }));
  const ProcessMemory memory(target.pid());
  int step = 0;
  while (kill_after([&] { (void)snapshot_thread(memory, target.pid(), kLimit); }, step)) {
    expect_that_it_runs_on(target, counter, step);
    ASSERT_LT(++step, 10'000);
  }
  EXPECT_GT(step, 10) << "PTRACE_SEIZE to PTRACE_DETACH, entries and exits";
}

TEST(ThreadSnapshot, ATracerThatIsKilledAtAnyStepLeavesAStoppedTargetStopped) {
  std::atomic<std::uint64_t>& counter = shared_counter();
  const Child target([&] {
    while (true) ++counter;
  });
  ASSERT_TRUE(holds_in_time([&] { return counter > 0; }));
  ::kill(target.pid(), SIGSTOP);
  ASSERT_TRUE(holds_in_time([&] { return target.state() == "T"; }));
  const ProcessMemory memory(target.pid());
  int step = 0;
  while (kill_after([&] { (void)snapshot_thread(memory, target.pid(), kLimit); }, step)) {
    EXPECT_TRUE(holds_in_time([&] { return !target.is_traced() && target.state() == "T"; }))
        << "step " << step << ", state " << target.state();
    ASSERT_LT(++step, 10'000);
  }
  EXPECT_GT(step, 10);
  ::kill(target.pid(), SIGCONT);
  expect_that_it_runs_on(target, counter, step);
}

std::atomic<std::uint64_t>* signals_seen = nullptr;

TEST(ThreadSnapshot, NoSignalOfTheTargetIsLostWhereTheTracerIsKilled) {
  std::atomic<std::uint64_t>& counter = shared_counter();
  signals_seen = &counter;
  const Child target([] {
    ::signal(SIGUSR1, [](int) { ++*signals_seen; });
    ++*signals_seen;
    while (true) ::pause();
  });
  ASSERT_TRUE(holds_in_time([&] { return counter == 1; }));
  const ProcessMemory memory(target.pid());
  int step = 0;
  while (kill_after(
      [&] {
        ::kill(target.pid(), SIGUSR1);
        (void)snapshot_thread(memory, target.pid(), kLimit);
      },
      step)) {
    const std::uint64_t sent = counter;
    ::kill(target.pid(), SIGUSR1);
    EXPECT_TRUE(holds_in_time([&] { return counter > sent; })) << "step " << step;
    ASSERT_LT(++step, 10'000);
  }
}

TEST(ThreadSnapshot, RegistersAndTheStackOfAWaitingThread) {
  std::atomic<std::uint64_t>& counter = shared_counter();
  const Child target([&] {
    ++counter;
    while (true) ::pause();
  });
  ASSERT_TRUE(holds_in_time([&] { return counter == 1 && target.state() == "S"; }));
  const ProcessMemory memory(target.pid());
  const auto stopped = snapshot_thread(memory, target.pid(), kLimit);
  ASSERT_TRUE(stopped) << stopped.error();
  EXPECT_FALSE(target.is_traced());
  ASSERT_TRUE(holds_in_time([&] { return target.state() == "S"; }));
  const auto blocked = snapshot_blocked_thread(memory, target.pid());
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->stack_begin, stopped->stack_begin);
  EXPECT_EQ(blocked->stack, stopped->stack);
  EXPECT_GT(stopped->stack.size(), 1000U);
}

/// The parent in vfork(2) waits in state D for its child.
TEST(ThreadSnapshot, OneThatDoesNotStopIsLetGoAtOnceAndDoesNotStopLater) {
  std::atomic<std::uint64_t>& counter = shared_counter();
  std::atomic<std::uint64_t>& is_over = shared_counter();
  const Child target([&] {
    const auto wait = [&] {
      while (is_over == 0) ::usleep(1000);
      ::_exit(0);
    };
    if (::vfork() == 0) wait();
    while (true) ++counter;
  });
  ASSERT_TRUE(holds_in_time([&] { return target.state() == "D"; }));
  const ProcessMemory memory(target.pid());
  constexpr std::chrono::milliseconds kShort{20};
  EXPECT_EQ(snapshot_thread_apart(memory, target.pid(), kShort).error(), ETIMEDOUT);
  EXPECT_FALSE(target.is_traced());
  EXPECT_EQ(target.state(), "D");
  is_over = 1;
  expect_that_it_runs_on(target, counter, 0);
  const auto taken = snapshot_thread_apart(memory, target.pid(), kLimit);
  ASSERT_TRUE(taken) << taken.error();
  EXPECT_FALSE(target.is_traced());
  expect_that_it_runs_on(target, counter, 1);
}

TEST(ThreadSnapshot, OneThatHasEndedOrIsTracedAlready) {
  const ProcessMemory nobody(0x3fffffff);
  EXPECT_EQ(snapshot_thread(nobody, 0x3fffffff, kLimit).error(), ESRCH);
  const Child target([] {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
  });
  ::waitpid(target.pid(), nullptr, 0);
  EXPECT_EQ(snapshot_thread(ProcessMemory(target.pid()), target.pid(), kLimit).error(), EPERM);
}

}  // namespace
}  // namespace dlaunch
