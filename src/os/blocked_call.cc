#include "os/blocked_call.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/proc_file.h"
#include "os/unique_fd.h"

namespace dlaunch {

namespace {

/// A system call that may wait, and which of its arguments is a descriptor or the address of a
/// path.
struct Call {
  long number;
  const char* verb;
  enum class File { none, descriptor, path, descriptor_list } file = File::none;
  int argument = 0;
};

using enum Call::File;
constexpr Call kCalls[] = {
    {SYS_read, "reading", descriptor},
    {SYS_pread64, "reading", descriptor},
    {SYS_readv, "reading", descriptor},
    {SYS_getdents64, "listing", descriptor},
    {SYS_write, "writing", descriptor},
    {SYS_pwrite64, "writing", descriptor},
    {SYS_writev, "writing", descriptor},
    {SYS_splice, "writing", descriptor, 2},
    {SYS_sendfile, "writing", descriptor},
    {SYS_fsync, "syncing", descriptor},
    {SYS_fdatasync, "syncing", descriptor},
    {SYS_ftruncate, "truncating", descriptor},
    {SYS_fallocate, "allocating", descriptor},
    {SYS_flock, "locking", descriptor},
    {SYS_fcntl, "locking", descriptor},
    {SYS_ioctl, "in an ioctl on", descriptor},
    {SYS_fstat, "looking at", descriptor},
    {SYS_close, "closing", descriptor},
    {SYS_openat, "opening", path, 1},
    {SYS_newfstatat, "looking at", path, 1},
    {SYS_statx, "looking at", path, 1},
    {SYS_unlinkat, "removing", path, 1},
    {SYS_mkdirat, "making", path, 1},
    {SYS_renameat, "renaming", path, 1},
    {SYS_execve, "executing", path},
    {SYS_recvfrom, "receiving from", descriptor},
    {SYS_recvmsg, "receiving from", descriptor},
    {SYS_sendto, "sending to", descriptor},
    {SYS_sendmsg, "sending to", descriptor},
    {SYS_accept, "accepting on", descriptor},
    {SYS_accept4, "accepting on", descriptor},
    {SYS_connect, "connecting", descriptor},
    {SYS_ppoll, "waiting for", descriptor_list},
    {SYS_pselect6, "waiting for descriptors"},
    {SYS_epoll_pwait, "waiting for events"},
    {SYS_futex, "waiting for a lock"},
    {SYS_nanosleep, "sleeping"},
    {SYS_clock_nanosleep, "sleeping"},
    {SYS_wait4, "waiting for a child process"},
    {SYS_waitid, "waiting for a child process"},
    {SYS_rt_sigtimedwait, "waiting for a signal"},
    {SYS_rt_sigsuspend, "waiting for a signal"},
    {SYS_semtimedop, "waiting for a semaphore"},
    {SYS_msgrcv, "waiting for a message"},
#ifdef SYS_open
    {SYS_open, "opening", path},
    {SYS_stat, "looking at", path},
    {SYS_mkdir, "making", path},
    {SYS_unlink, "removing", path},
    {SYS_rename, "renaming", path},
    {SYS_poll, "waiting for", descriptor_list},
    {SYS_select, "waiting for descriptors"},
    {SYS_epoll_wait, "waiting for events"},
    {SYS_pause, "waiting for a signal"},
    {SYS_semop, "waiting for a semaphore"},
#endif
};

/// Bytes of the process's memory, at most `size`; fewer, or none, if they cannot be read.
std::string memory_at(pid_t pid, std::uint64_t address, std::size_t size) {
  const std::string memory = "/proc/" + std::to_string(pid) + "/mem";
  const UniqueFd file(::open(memory.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> page;
  std::string bytes;
  while (file && bytes.size() < size) {
    // Page by page, since the next one may not be mapped.
    const std::uint64_t at = address + bytes.size();
    const std::size_t room = std::min(size - bytes.size(), page.size() - at % page.size());
    const ssize_t n = ::pread(file.get(), page.data(), room, static_cast<off_t>(at));
    if (n <= 0) break;
    bytes.append(page.data(), static_cast<std::size_t>(n));
  }
  return bytes;
}

std::string target_of(pid_t pid, std::uint64_t descriptor) {
  return link_target("/proc/" + std::to_string(pid) + "/fd/" + std::to_string(descriptor));
}

std::string path_at(pid_t pid, std::uint64_t address) {
  std::string path = memory_at(pid, address, 4096);
  path.resize(std::min(path.size(), path.find('\0')));
  if (path.empty() || path.starts_with('/')) return path;
  return link_target("/proc/" + std::to_string(pid) + "/cwd") + '/' + path;
}

/// The file that a poll(2) waits for, if it waits for a single descriptor.
std::string only_polled(pid_t pid, std::uint64_t list, std::uint64_t count) {
  std::int32_t descriptor = -1;
  const std::string bytes = count == 1 ? memory_at(pid, list, sizeof descriptor) : "";
  if (bytes.size() != sizeof descriptor) return "";
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(&descriptor));
  return descriptor < 0 ? "" : target_of(pid, static_cast<std::uint64_t>(descriptor));
}

}  // namespace

BlockedCall blocked_call(pid_t process, pid_t thread) {
  // "1 0x5 0x7ffd... ...": number and six arguments (proc(5)); "running" or "-1 ..." outside of a
  // call.
  const std::string line = read_proc_file("/proc/" + std::to_string(process) + "/task/" +
                                          std::to_string(thread) + "/syscall");
  char* at = nullptr;
  const long number = std::strtol(line.c_str(), &at, 10);
  if (at == line.c_str()) return {};
  const auto* call = std::find_if(std::begin(kCalls), std::end(kCalls),
                                  [number](const Call& one) { return one.number == number; });
  if (call == std::end(kCalls)) return {};
  std::array<std::uint64_t, 6> arguments{};
  for (std::uint64_t& one : arguments) one = std::strtoull(at, &at, 16);
  const std::uint64_t argument = arguments[static_cast<std::size_t>(call->argument)];
  switch (call->file) {
    case none:
      return {call->verb, ""};
    case descriptor:
      return {call->verb, target_of(process, argument)};
    case path:
      return {call->verb, path_at(process, argument)};
    case descriptor_list:
      return {call->verb, only_polled(process, arguments[0], arguments[1])};
  }
  return {};
}

std::string text_of(const BlockedCall& call) {
  const bool needs_file = call.verb == "waiting for";
  if (call.file.empty()) return needs_file ? "waiting for descriptors" : call.verb;
  if (call.file.starts_with("pipe:")) return call.verb + " a pipe";
  if (call.file.starts_with("socket:")) {
    return call.verb + (call.verb == "connecting" ? "" : " a socket");
  }
  if (call.file.starts_with("anon_inode:")) return call.verb + ' ' + call.file.substr(11);
  return call.verb + ' ' + call.file;
}

}  // namespace dlaunch
