// clone(2) as vfork(2) would do it, but onto a stack of its own, and into a cgroup where one is
// given.
#pragma once

#include <cstddef>

#include <sys/types.h>

/// For functions that run there and end there: AddressSanitizer would look for the wrong stack.
#define DLAUNCH_ON_OWN_STACK __attribute__((no_sanitize("address")))

namespace dlaunch {

/// The child shares our memory and we wait until it executes or ends. It runs `run(argument)`,
/// which must not return, on the given stack (16-byte aligned, `size` a multiple of 16). `cgroup`:
/// descriptor of the cgroup v2 folder in which it begins (CLONE_INTO_CGROUP, Linux 5.7), or -1.
/// Returns the pid, or -1 with errno; with a cgroup ENOSYS also where this machine's instruction
/// set is not known here.
[[nodiscard]] pid_t clone_child(int (*run)(void*), void* argument, char* stack, std::size_t size,
                                int cgroup);

}  // namespace dlaunch
