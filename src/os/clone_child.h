// clone(2) with the semantics of vfork(2), but on a separate stack, and optionally into a cgroup.
#pragma once

#include <cstddef>

#include <sys/types.h>

/// Marks functions that run on that stack: AddressSanitizer would assume the caller's stack.
#define DLAUNCH_ON_OWN_STACK __attribute__((no_sanitize("address")))

namespace dlaunch {

/// The child shares our memory, and the caller waits until it executes or ends. It runs
/// `run(argument)`, which must not return, on the given stack (16-byte aligned, `size` a multiple
/// of 16). `cgroup`: descriptor of the cgroup v2 folder in which it starts (CLONE_INTO_CGROUP,
/// Linux 5.7), or -1. Returns the pid, or -1 with errno; with a cgroup, ENOSYS also means an
/// unsupported architecture.
[[nodiscard]] pid_t clone_child(int (*run)(void*), void* argument, char* stack, std::size_t size,
                                int cgroup);

}  // namespace dlaunch
