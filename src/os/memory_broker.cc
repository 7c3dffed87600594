#include "os/memory_broker.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "os/detached_thread.h"
#include "os/proc_file.h"
#include "text/number.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kOwnCalls = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kOwnCalls = AUDIT_ARCH_AARCH64;
#else
#error "which AUDIT_ARCH do the system calls of this CPU have?"
#endif

constexpr std::uint64_t kMostAtOnce = std::uint64_t{64} << 20;
constexpr int kMostBrokers = 4;   // each ends soon after its question
constexpr int kMostReaders = 64;  // four times as many as the programs that run at a time
constexpr std::size_t kCopiedAtOnce = std::size_t{64} << 10;

/// A message on the socket, which comes with the listener of the filter.
struct Announcement {
  pid_t target = 0;
};

union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

/// The process of a thread, from the text of its /proc status; 0: the kernel does not say.
pid_t process_of(std::string_view status) {
  constexpr std::string_view kName = "\nTgid:\t";
  const std::size_t at = status.find(kName);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = status.substr(at + kName.size());
  return number_of<pid_t>(rest.substr(0, rest.find('\n'))).value_or(0);
}

/// A program whose reads are answered.
class Reader {
 public:
  Reader(UniqueFd listener, pid_t target) : listener_(std::move(listener)), target_(target) {}

  [[nodiscard]] int listener() const { return listener_.get(); }

  /// Call when the listener is readable. False: the program is gone.
  bool answer_one(std::vector<char>& piece) {
    // The kernel's structure may grow; it must be zero.
    union {
      seccomp_notif request;
      char room[256];
    };
    std::memset(room, 0, sizeof room);
    if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &request) != 0)
      return errno == EINTR || errno == ENOENT;  // ENOENT: it was killed while it waited
    union {
      seccomp_notif_resp response;
      char room_back[256];
    };
    std::memset(room_back, 0, sizeof room_back);
    const std::int64_t result = answer(request, piece);
    response.id = request.id;
    response.val = std::max<std::int64_t>(result, 0);
    response.error = static_cast<std::int32_t>(std::min<std::int64_t>(result, 0));
    return ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &response) == 0 || errno == ENOENT;
  }

 private:
  /// What process_vm_readv(2) would return, or a negative errno value.
  std::int64_t answer(const seccomp_notif& request, std::vector<char>& piece) {
    const auto& [pid, local, local_count, remote, remote_count, flags] = request.data.args;
    if (static_cast<pid_t>(pid) != target_) return -EPERM;
    if (local_count != 1 || remote_count != 1 || flags != 0) return -EINVAL;
    if (!memory_ && !open_memory(request)) return -ESRCH;
    if (!is_of_program(static_cast<pid_t>(request.pid))) return -EPERM;
    iovec to{};
    iovec from{};
    if (!take(local, to) || !take(remote, from)) return -EFAULT;
    return copy(reinterpret_cast<std::uint64_t>(from.iov_base),
                reinterpret_cast<std::uint64_t>(to.iov_base), std::min(to.iov_len, from.iov_len),
                piece);
  }

  /// The open file belongs to the program even when its number is another process's (see the
  /// example of seccomp_unotify(2)).
  bool open_memory(const seccomp_notif& request) {
    const std::string folder = "/proc/" + std::to_string(request.pid);
    const pid_t process = process_of(read_proc_file(folder + "/status", 4096));
    UniqueFd opened(::open((folder + "/mem").c_str(), O_RDWR | O_CLOEXEC));
    // Before Linux 5.9 the number of this ioctl names the wrong direction.
    const unsigned long before = SECCOMP_IOR(2, __u64);
    std::uint64_t id = request.id;
    if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &id) != 0 &&
        ::ioctl(listener_.get(), before, &id) != 0)
      return false;
    program_ = process;
    memory_ = std::move(opened);
    return memory_.valid();
  }

  /// False: a process that the program has forked, which has the same filter but other memory.
  [[nodiscard]] bool is_of_program(pid_t thread) const {
    const std::string of_program =
        "/proc/" + std::to_string(program_) + "/task/" + std::to_string(thread);
    return thread == program_ || ::access(of_program.c_str(), F_OK) == 0;
  }

  bool take(std::uint64_t address, iovec& range) const {
    return ::pread(memory_.get(), &range, sizeof range, static_cast<off_t>(address)) ==
           static_cast<ssize_t>(sizeof range);
  }

  std::int64_t copy(std::uint64_t from, std::uint64_t to, std::uint64_t size,
                    std::vector<char>& piece) const {
    if (size > kMostAtOnce) return -EINVAL;
    std::uint64_t done = 0;
    while (done < size) {
      iovec own{piece.data(), std::min<std::uint64_t>(size - done, piece.size())};
      iovec its{reinterpret_cast<void*>(from + done), own.iov_len};
      const ssize_t n = ::process_vm_readv(target_, &own, 1, &its, 1, 0);
      if (n <= 0) {
        if (done == 0) return n == 0 ? 0 : -errno;
        break;
      }
      if (::pwrite(memory_.get(), piece.data(), static_cast<std::size_t>(n),
                   static_cast<off_t>(to + done)) != n)
        return -EFAULT;
      done += static_cast<std::uint64_t>(n);
      if (static_cast<std::size_t>(n) < own.iov_len) break;
    }
    return static_cast<std::int64_t>(done);
  }

  UniqueFd listener_;
  pid_t target_;
  pid_t program_ = 0;
  UniqueFd memory_;  // the program's
};

/// The next announced program; invalid listener: no more come. `again`: there is none now.
std::pair<UniqueFd, pid_t> receive(int socket, bool& again) {
  Announcement announced;
  iovec data{&announced, sizeof announced};
  Control control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  const ssize_t n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  again = n < 0 && errno == EINTR;
  if (n != static_cast<ssize_t>(sizeof announced)) return {};
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  again = header == nullptr || header->cmsg_type != SCM_RIGHTS;
  if (again) return {};
  int listener = -1;
  std::memcpy(&listener, CMSG_DATA(header), sizeof listener);
  return {UniqueFd(listener), announced.target};
}

/// Answers one program until it is gone, or until the socket's other end is closed everywhere: then
/// nobody needs an answer any more.
void answer(Reader& reader, int socket) {
  std::vector<char> piece(kCopiedAtOnce);
  std::array<pollfd, 2> ready{{{reader.listener(), POLLIN, 0}, {socket, 0, 0}}};
  while (true) {
    if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
    if (ready[1].revents != 0) return;
    const short events = ready[0].revents;
    if ((events & POLLIN) != 0 ? !reader.answer_one(piece) : events != 0) return;
  }
}

/// Detached threads, up to a number: those of earlier questions may wait in the kernel.
class Threads {
 public:
  explicit constexpr Threads(int most) : most_(most) {}

  bool start(std::function<void()> work) {
    if (++running_ > most_ || start_detached_thread([this, work = std::move(work)]() mutable {
                                work();
                                work = nullptr;  // closes what it holds before another may start
                                --running_;
                              }) != 0) {
      --running_;
      return false;
    }
    return true;
  }

 private:
  const int most_;
  std::atomic<int> running_ = 0;
};

/// Each program has a thread of its own, because a read may wait.
void serve_programs(const std::shared_ptr<UniqueFd>& socket) {
  static Threads threads(kMostReaders);
  while (true) {
    bool again = false;
    auto [listener, target] = receive(socket->get(), again);
    if (!listener && !again) return;
    if (!listener) continue;
    const auto reader = std::make_shared<Reader>(std::move(listener), target);
    (void)threads.start([reader, socket] { answer(*reader, socket->get()); });
  }
}

bool may_trace() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  return ::syscall(SYS_capget, &header, sets) == 0 &&
         (sets[0].effective & (1U << CAP_SYS_PTRACE)) != 0;
}

/// The listener of a new filter that passes on process_vm_readv(2); invalid: not possible here.
UniqueFd divert_reads() {
  std::array<sock_filter, 6> code{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kOwnCalls, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return {};
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program)));
}

}  // namespace

int ptrace_scope() {
  const std::string text = read_proc_file("/proc/sys/kernel/yama/ptrace_scope", 32);
  return number_of<int>(text.substr(0, text.find('\n'))).value_or(0);
}

bool only_ancestors_may_read() {
  return ptrace_scope() == 1 && !may_trace();
}

bool is_memory_refused(pid_t pid) {
  char byte = 0;
  iovec own{&byte, 1};
  iovec its{nullptr, 1};  // the kernel asks for permission first; nothing is there
  return ::process_vm_readv(pid, &own, 1, &its, 1, 0) < 0 && errno == EPERM;
}

bool gains_privileges(const std::string& program) {
  struct stat info {};
  if (::stat(program.c_str(), &info) != 0) return false;
  return (info.st_mode & (S_ISUID | S_ISGID)) != 0 ||
         ::getxattr(program.c_str(), "security.capability", nullptr, 0) > 0;
}

UniqueFd start_memory_broker() {
  static Threads threads(kMostBrokers);
  auto sockets = make_socket_pair(SOCK_SEQPACKET);
  if (!sockets) return {};
  const auto socket = std::make_shared<UniqueFd>(std::move(sockets->first));
  if (!threads.start([socket] { serve_programs(socket); })) return {};
  return std::move(sockets->second);
}

bool ask_for_reads(int broker, pid_t target) {
  UniqueFd listener = divert_reads();
  if (!listener) return false;
  Announcement announced{target};
  iovec data{&announced, sizeof announced};
  Control control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = listener.get();
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  const ssize_t sent = ::sendmsg(broker, &message, MSG_NOSIGNAL);
  listener.reset();  // without it, the call below would wait for an answer from here
  if (sent != static_cast<ssize_t>(sizeof announced)) return false;
  // The kernel says ENOSYS if nobody has the listener. The broker refuses these flags at once, and
  // does not open the memory of this process, which execve(2) will replace.
  constexpr unsigned long kRefused = 1;
  return ::process_vm_readv(target, nullptr, 0, nullptr, 0, kRefused) < 0 && errno != ENOSYS;
}

}  // namespace dlaunch
