#include "os/thread_snapshot.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <string_view>
#include <system_error>
#include <thread>

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "os/clock.h"
#include "os/proc_file.h"
#include "text/number.h"

namespace dlaunch {

namespace {

constexpr std::uint64_t kMostStack = std::uint64_t{256} << 10;

#if defined(__x86_64__)
constexpr std::size_t kStackPointer = 7;
constexpr std::size_t kProgramCounter = 16;

void take_registers(const user_regs_struct& from, ThreadSnapshot& to) {
  to.registers = {from.rax, from.rdx, from.rcx, from.rbx, from.rsi, from.rdi,
                  from.rbp, from.rsp, from.r8,  from.r9,  from.r10, from.r11,
                  from.r12, from.r13, from.r14, from.r15, from.rip};
}
#elif defined(__aarch64__)
constexpr std::size_t kStackPointer = 31;
constexpr std::size_t kProgramCounter = 32;

void take_registers(const user_regs_struct& from, ThreadSnapshot& to) {
  std::copy(std::begin(from.regs), std::end(from.regs), to.registers.begin());
  to.registers[kStackPointer] = from.sp;
  to.registers[kProgramCounter] = from.pc;
}
#else
#error "which registers does this CPU have, by DWARF's numbers?"
#endif

void copy_stack(const ProcessMemory& memory, ThreadSnapshot& snapshot) {
  snapshot.stack_begin = snapshot.registers[kStackPointer];
  const auto& mappings = memory.mappings();
  // The stack of a main thread may have grown downwards since the mappings were read.
  const auto its =
      std::upper_bound(mappings.begin(), mappings.end(), snapshot.stack_begin,
                       [](std::uint64_t at, const Mapping& one) { return at < one.end; });
  if (its == mappings.end()) return;
  snapshot.stack =
      memory.read(snapshot.stack_begin, std::min(its->end - snapshot.stack_begin, kMostStack));
}

/// A thread that this process traces.
class TracedThread {
 public:
  explicit TracedThread(pid_t id) : id_(id) {
    if (::ptrace(PTRACE_SEIZE, id, nullptr, nullptr) != 0) error_ = errno;
  }
  ~TracedThread() {
    // Only a stopped thread can be detached. PTRACE_DETACH takes the signal to continue with: if
    // delivering a signal stopped the thread, that signal.
    if (is_stopped_) ::ptrace(PTRACE_DETACH, id_, nullptr, reinterpret_cast<void*>(signal_));
  }
  TracedThread(const TracedThread&) = delete;
  TracedThread& operator=(const TracedThread&) = delete;

  /// 0, or errno.
  int stop(std::chrono::milliseconds limit) {
    if (error_ != 0) return error_;
    if (::ptrace(PTRACE_INTERRUPT, id_, nullptr, nullptr) != 0) return errno;
    const MonotonicTime end = monotonic_now() + limit;
    for (long pause = 10'000; monotonic_now() < end; pause = std::min(2 * pause, 1'000'000L)) {
      siginfo_t info{};
      // WNOWAIT leaves the stop as it is: a signal in delivery is not lost if this process dies.
      if (::waitid(P_PID, static_cast<id_t>(id_), &info,
                   WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) != 0)
        return errno;
      if (info.si_pid == id_) {
        if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
          ::waitpid(id_, nullptr, __WALL | WNOHANG);  // its parent learns of its end after us
          return ESRCH;
        }
        is_stopped_ = true;
        const bool has_event = info.si_status >> 8 != 0;  // a ptrace event, not a signal
        signal_ = has_event ? 0 : info.si_status;
        return 0;
      }
      const timespec wait{0, pause};
      ::nanosleep(&wait, nullptr);
    }
    return ETIMEDOUT;
  }

  int read_registers(ThreadSnapshot& snapshot) const {
    user_regs_struct registers{};
    iovec to{&registers, sizeof registers};
    if (::ptrace(PTRACE_GETREGSET, id_, reinterpret_cast<void*>(NT_PRSTATUS), &to) != 0)
      return errno;
    if (to.iov_len != sizeof registers) return ENOEXEC;  // a 32-bit program
    take_registers(registers, snapshot);
    return 0;
  }

 private:
  pid_t id_;
  int error_ = 0;
  bool is_stopped_ = false;
  long signal_ = 0;
};

}  // namespace

tl::expected<ThreadSnapshot, int> snapshot_thread(const ProcessMemory& memory, pid_t thread,
                                                  std::chrono::milliseconds limit) {
  ThreadSnapshot snapshot;
  TracedThread traced(thread);
  if (const int error = traced.stop(limit); error != 0) return tl::unexpected(error);
  if (const int error = traced.read_registers(snapshot); error != 0) return tl::unexpected(error);
  copy_stack(memory, snapshot);
  return snapshot;
}

tl::expected<ThreadSnapshot, int> snapshot_thread_apart(const ProcessMemory& memory, pid_t thread,
                                                        std::chrono::milliseconds limit) {
  tl::expected<ThreadSnapshot, int> taken;
  try {
    std::thread([&] { taken = snapshot_thread(memory, thread, limit); }).join();
  } catch (const std::system_error& error) {
    return tl::unexpected(error.code().value());
  }
  return taken;
}

std::optional<ThreadSnapshot> snapshot_blocked_thread(const ProcessMemory& memory, pid_t thread) {
  const std::string said = read_proc_file(
      "/proc/" + std::to_string(memory.pid()) + "/task/" + std::to_string(thread) + "/syscall",
      512);
  // "232 0x4 0x7f... 0x7ffc1000 0x7f001234\n": the last two
  const std::string_view text = std::string_view(said).substr(0, said.find('\n'));
  const std::size_t counter = text.rfind(" 0x");
  if (counter == std::string_view::npos || counter == 0) return std::nullopt;
  const std::size_t pointer = text.rfind(" 0x", counter - 1);
  if (pointer == std::string_view::npos) return std::nullopt;
  const auto pc = number_of<std::uint64_t>(text.substr(counter + 3), 16);
  const auto sp = number_of<std::uint64_t>(text.substr(pointer + 3, counter - pointer - 3), 16);
  if (!pc || !sp) return std::nullopt;
  ThreadSnapshot snapshot;
  snapshot.registers[kStackPointer] = *sp;
  snapshot.registers[kProgramCounter] = *pc;
  copy_stack(memory, snapshot);
  return snapshot;
}

}  // namespace dlaunch
