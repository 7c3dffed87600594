#include "os/clone_child.h"

#include <cerrno>
#include <csignal>
#include <cstdint>

#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>

namespace dlaunch {

namespace {

#ifdef CLONE_INTO_CGROUP

// glibc has no clone3. The child starts on another stack, so it must not return from the system
// call into compiled code that uses the old one. Returns a pid or a negative errno value.
long clone3_onto_stack(clone_args& arguments, int (*run)(void*), void* argument) {
#if defined(__x86_64__)
  // System V ABI, x86-64: the kernel takes rax, rdi, rsi and changes rcx and r11.
  long result = SYS_clone3;
  register int (*function)(void*) asm("r8") = run;
  register void* parameter asm("r9") = argument;
  asm volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "movq %%r9, %%rdi\n\t"
      "callq *%%r8\n\t"
      "hlt\n"
      "1:"
      : "+a"(result)
      : "D"(&arguments), "S"(sizeof arguments), "r"(function), "r"(parameter)
      : "rcx", "r11", "memory", "cc");
  return result;
#elif defined(__aarch64__)
  // AAPCS64: the kernel takes x8, x0, x1 and changes nothing but x0.
  register long number asm("x8") = SYS_clone3;
  register long result asm("x0") = reinterpret_cast<long>(&arguments);
  register long size asm("x1") = sizeof arguments;
  register int (*function)(void*) asm("x2") = run;
  register void* parameter asm("x3") = argument;
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x0, x3\n\t"
      "blr x2\n\t"
      "brk #1\n"
      "1:"
      : "+r"(result)
      : "r"(number), "r"(size), "r"(function), "r"(parameter)
      : "x30", "memory", "cc");
  return result;
#else
  (void)arguments, (void)run, (void)argument;
  return -ENOSYS;
#endif
}

pid_t clone_into(int (*run)(void*), void* argument, char* stack, std::size_t size, int cgroup) {
  clone_args arguments{};
  arguments.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.stack = reinterpret_cast<std::uintptr_t>(stack);
  arguments.stack_size = size;
  arguments.cgroup = static_cast<std::uint64_t>(cgroup);
  const long result = clone3_onto_stack(arguments, run, argument);
  if (result >= 0) return static_cast<pid_t>(result);
  errno = static_cast<int>(-result);
  return -1;
}

#else

pid_t clone_into(int (*)(void*), void*, char*, std::size_t, int) {
  errno = ENOSYS;
  return -1;
}

#endif

}  // namespace

pid_t clone_child(int (*run)(void*), void* argument, char* stack, std::size_t size, int cgroup) {
  if (cgroup >= 0) return clone_into(run, argument, stack, size, cgroup);
  return ::clone(run, stack + size, CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
}

}  // namespace dlaunch
