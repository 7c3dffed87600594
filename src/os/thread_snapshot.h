// Registers and stack of a thread of another process. The thread is stopped only while they are
// copied, tens of microseconds; they are evaluated afterwards.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "model/result.h"
#include "os/process_memory.h"

namespace dlaunch {

struct ThreadSnapshot {
  static constexpr std::size_t kRegisters = 33;
  std::array<std::uint64_t, kRegisters> registers{};  // by DWARF's numbers for this CPU
  std::uint64_t stack_begin = 0;                      // the stack pointer
  std::string stack;                                  // from there outwards, truncated
};

/// Stops the thread (PTRACE_SEIZE, PTRACE_INTERRUPT), copies registers and stack, and lets it go.
/// If a signal had stopped the thread, it stays stopped; a signal that arrives during the stop is
/// delivered. If this process dies at any point, the kernel lets the thread go as well. Error:
/// errno; ETIMEDOUT: it did not stop within `limit` (state D); the kernel then lets it go when the
/// calling thread ends.
[[nodiscard]] tl::expected<ThreadSnapshot, int> snapshot_thread(const ProcessMemory& memory,
                                                                pid_t thread,
                                                                std::chrono::milliseconds limit);

/// The same from a helper thread, which has ended when this returns. So even a `thread` that did
/// not stop in time is let go, and does not stop later.
[[nodiscard]] tl::expected<ThreadSnapshot, int> snapshot_thread_apart(
    const ProcessMemory& memory, pid_t thread, std::chrono::milliseconds limit);

/// For a thread that waits in a system call, without stopping it. The registers are only the
/// program counter and stack pointer (/proc/PID/syscall), which suffice to unwind code that keeps
/// no frame pointer. nullopt: the thread is running, or may not be inspected.
[[nodiscard]] std::optional<ThreadSnapshot> snapshot_blocked_thread(const ProcessMemory& memory,
                                                                    pid_t thread);

}  // namespace dlaunch
