#include "os/memory_broker.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace dlaunch {
namespace {

constexpr std::size_t kMuch = 300'000;  // several pieces of the broker

std::vector<char> pattern() {
  std::vector<char> bytes(kMuch);
  for (std::size_t i = 0; i < kMuch; ++i) bytes[i] = static_cast<char>(i * 7 % 251);
  return bytes;
}

const std::vector<char> kHere = pattern();  // at the same address in each fork

/// Bytes read, or a negative errno value.
ssize_t read_of(pid_t pid, const void* from, void* to, std::size_t size) {
  iovec own{to, size};
  iovec its{const_cast<void*>(from), size};
  const ssize_t n = ::process_vm_readv(pid, &own, 1, &its, 1, 0);
  return n < 0 ? -errno : n;
}

/// A process that stands still until the test ends.
class Target {
 public:
  Target() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) ::pause();
  }
  ~Target() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

/// The exit status of a child process that does this and returns true: 0.
int status_of(const std::function<bool()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(30);
    ::_exit(work() ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(pid, &status, 0) == pid ? status : -1;
}

TEST(MemoryBroker, AnswersReadsOfItsTargetOnly) {
  const Target target;
  const Target other;
  const UniqueFd broker = start_memory_broker();
  ASSERT_TRUE(broker);
  const auto read = [&](pid_t pid, std::size_t size) {
    std::vector<char> got(size);
    return read_of(pid, kHere.data(), got.data(), size) == static_cast<ssize_t>(size) &&
           std::memcmp(got.data(), kHere.data(), size) == 0;
  };
  EXPECT_EQ(status_of([&] {
              // Without the broker, the kernel permits this one too.
              if (!read(other.pid(), 8) || !ask_for_reads(broker.get(), target.pid())) return false;
              std::array<char, 8> got{};
              return read(target.pid(), 8) && read(target.pid(), kMuch) &&
                     read_of(other.pid(), kHere.data(), got.data(), 8) == -EPERM &&
                     read_of(::getppid(), kHere.data(), got.data(), 8) == -EPERM;
            }),
            0);
}

TEST(MemoryBroker, ReportsWhatCannotBeReadOrWritten) {
  const Target target;
  const UniqueFd broker = start_memory_broker();
  ASSERT_TRUE(broker);
  EXPECT_EQ(status_of([&] {
              if (!ask_for_reads(broker.get(), target.pid())) return false;
              std::array<char, 8> got{};
              iovec own{got.data(), 4};
              std::array<iovec, 2> its{{{got.data(), 2}, {got.data(), 2}}};
              const bool two = ::process_vm_readv(target.pid(), &own, 1, its.data(), 2, 0) >= 0;
              return !two && errno == EINVAL &&
                     read_of(target.pid(), nullptr, got.data(), 8) == -EFAULT &&
                     read_of(target.pid(), kHere.data(), nullptr, 8) == -EFAULT &&
                     read_of(target.pid(), kHere.data(), got.data(), std::size_t{65} << 20) ==
                         -EINVAL;
            }),
            0);
}

TEST(MemoryBroker, AnswersAllThreadsOfItsProgramButNoOtherProcess) {
  const Target target;
  const UniqueFd broker = start_memory_broker();
  ASSERT_TRUE(broker);
  const auto read = [&] {
    std::array<char, 8> got{};
    return read_of(target.pid(), kHere.data(), got.data(), 8);
  };
  EXPECT_EQ(status_of([&] {
              if (!ask_for_reads(broker.get(), target.pid())) return false;
              ssize_t by_thread = 0;
              std::thread([&] { by_thread = read(); }).join();
              return by_thread == 8 && read() == 8 &&
                     status_of([&] { return read() == -EPERM; }) == 0;
            }),
            0);
}

TEST(MemoryBroker, ServesSeveralProgramsOneOfWhichIsKilled) {
  const Target target;
  const UniqueFd broker = start_memory_broker();
  ASSERT_TRUE(broker);
  const auto reads = [&] {
    std::array<char, 8> got{};
    return read_of(target.pid(), kHere.data(), got.data(), 8) == 8;
  };
  int status = status_of([&] {
    if (!ask_for_reads(broker.get(), target.pid()) || !reads()) return false;
    return ::raise(SIGKILL) == 0;
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_EQ(status_of([&] { return ask_for_reads(broker.get(), target.pid()) && reads(); }), 0);
}

/// Whoever touches this page of the calling process waits until the process ends. Readable from
/// then on; -1: not permitted here.
int delay_faults(void* page) {
  const int faults = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC));
  uffdio_api api{UFFD_API, 0, 0};
  uffdio_register range{
      {reinterpret_cast<std::uint64_t>(page), static_cast<std::uint64_t>(::getpagesize())},
      UFFDIO_REGISTER_MODE_MISSING,
      0};
  const bool is_set = faults >= 0 && ::ioctl(faults, UFFDIO_API, &api) == 0 &&
                      ::ioctl(faults, UFFDIO_REGISTER, &range) == 0;
  return is_set ? faults : -1;
}

TEST(MemoryBroker, AReadThatWaitsDelaysNoOtherProgram) {
  const auto size = static_cast<std::size_t>(::getpagesize());
  void* const page =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto pipe = make_pipe();
  ASSERT_TRUE(page != MAP_FAILED && pipe);
  const pid_t delayed = ::fork();
  if (delayed == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pollfd faults{delay_faults(page), POLLIN, 0};
    (void)!::write(pipe->write.get(), faults.fd < 0 ? "n" : "y", 1);
    ::poll(&faults, 1, -1);
    (void)!::write(pipe->write.get(), "w", 1);
    while (true) ::pause();
  }
  pipe->write.reset();
  const auto told = [&] {
    char word = 0;
    return ::read(pipe->read.get(), &word, 1) == 1 ? word : '\0';
  };
  const bool can_delay = told() == 'y';
  const UniqueFd broker = start_memory_broker();
  const Target target;
  std::array<char, 8> got{};
  const pid_t waiting = can_delay ? ::fork() : -1;
  if (waiting == 0) {
    ::alarm(60);
    if (ask_for_reads(broker.get(), delayed)) read_of(delayed, page, got.data(), 8);
    ::_exit(0);
  }
  if (can_delay) {
    EXPECT_EQ(told(), 'w');
    EXPECT_EQ(status_of([&] {
                return ask_for_reads(broker.get(), target.pid()) &&
                       read_of(target.pid(), kHere.data(), got.data(), 8) == 8;
              }),
              0);
    EXPECT_EQ(::waitpid(waiting, nullptr, WNOHANG), 0) << "the read does not wait";
  }
  ::kill(delayed, SIGKILL);
  ::waitpid(delayed, nullptr, 0);
  if (can_delay) ::waitpid(waiting, nullptr, 0);
  ::munmap(page, size);
  if (!can_delay) GTEST_SKIP() << "userfaultfd(2) for the kernel's own accesses is not permitted";
}

TEST(MemoryBroker, AProgramThatNobodyAnswersIsRefused) {
  const Target target;
  EXPECT_EQ(status_of([&] {
              if (ask_for_reads(-1, target.pid())) return false;
              std::array<char, 8> got{};
              return read_of(target.pid(), kHere.data(), got.data(), 8) == -ENOSYS;
            }),
            0);
}

TEST(MemoryBroker, AProgramIsToldThatItCannotBeServed) {
  const Target target;
  const UniqueFd broker = start_memory_broker();
  ASSERT_TRUE(broker);
  EXPECT_EQ(status_of([&] {
              return ask_for_reads(broker.get(), target.pid()) &&
                     !ask_for_reads(broker.get(), target.pid());
            }),
            0)
      << "a second filter with a listener";
  EXPECT_EQ(status_of([&] {
              auto sockets = make_socket_pair(SOCK_SEQPACKET);
              if (!sockets) return false;
              const pid_t broker_that_ends = ::fork();
              if (broker_that_ends == 0) {
                sockets->second.reset();
                char announcement = 0;
                (void)::recv(sockets->first.get(), &announcement, 1, MSG_PEEK);
                ::_exit(0);
              }
              sockets->first.reset();
              return !ask_for_reads(sockets->second.get(), target.pid());
            }),
            0)
      << "a broker that has ended";
}

TEST(MemoryBroker, ItsThreadEndsWithTheSocket) {
  for (int i = 0; i < 40; ++i) {  // more than there may be threads
    UniqueFd broker;
    for (int wait = 0; !broker && wait < 1000; ++wait) {
      broker = start_memory_broker();
      if (!broker) ::usleep(10'000);
    }
    ASSERT_TRUE(broker) << "after " << i;
  }
}

TEST(IsMemoryRefused, AsksTheKernel) {
  const Target target;
  EXPECT_FALSE(is_memory_refused(target.pid()));
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  EXPECT_EQ(status_of([&] { return ::setuid(65534) == 0 && is_memory_refused(target.pid()); }), 0);
}

TEST(GainsPrivileges, SetuidSetgidAndFileCapabilities) {
  char path[] = "/tmp/program-XXXXXX";
  const UniqueFd file(::mkstemp(path));
  ASSERT_TRUE(file);
  const auto with_mode = [&](mode_t mode) {
    return ::fchmod(file.get(), mode) == 0 && gains_privileges(path);
  };
  EXPECT_FALSE(with_mode(0755));
  EXPECT_TRUE(with_mode(04755));
  EXPECT_TRUE(with_mode(02755));
  EXPECT_FALSE(with_mode(0755));
  // What `setcap cap_sys_ptrace+ep` writes: <linux/capability.h>.
  const vfs_cap_data ptrace{VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
                            {{1U << CAP_SYS_PTRACE, 0}, {0, 0}}};
  const bool is_set =
      ::fsetxattr(file.get(), "security.capability", &ptrace, sizeof ptrace, 0) == 0;
  EXPECT_EQ(gains_privileges(path), is_set);
  ::unlink(path);
  EXPECT_FALSE(gains_privileges(path));
  if (!is_set) GTEST_SKIP() << "needs the right to set file capabilities";
}

}  // namespace
}  // namespace dlaunch
