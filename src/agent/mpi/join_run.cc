#include "agent/mpi/join_run.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <optional>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "foreign/join_words.h"
#include "os/containment.h"
#include "os/own_machine.h"
#include "os/unique_fd.h"

namespace dlaunch {

namespace {

Error cannot(const std::string& what, int error_number) {
  return {exit_code::kPreflight, what + ": " + errno_text(error_number)};
}

tl::expected<UniqueFd, int> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return tl::unexpected(ENAMETOOLONG);
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return tl::unexpected(errno);
  return socket;
}

/// The socket to Hydra's proxy (MPICH wiki, "PMI-1 wire protocol"); -1: there is none.
int pmi_descriptor(const Environment& environment) {
  const auto text = find_variable(environment, "PMI_FD");
  int number = -1;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

bool send_with(int socket, const std::string& text, const std::array<int, 2>& descriptors,
               std::size_t count) {
  iovec data{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors)];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(part), descriptors.data(), count * sizeof(int));
  ssize_t n = 0;
  do {
    n = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(text.size());
}

std::optional<JoinAnswer> wait_for_answer(int socket) {
  std::string text(kMostJoinBytes, '\0');
  ssize_t n = 0;
  do {
    n = ::recv(socket, text.data(), text.size(), 0);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return std::nullopt;
  return decode_join_answer(std::string_view(text).substr(0, static_cast<std::size_t>(n)));
}

/// As the rank has ended, but for the core file, which the rank has written.
[[noreturn]] void end_as(const ExitStatus& status) {
  if (!status.signaled) ::_exit(status.value);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(status.value, SIG_DFL);
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
  ::kill(::getpid(), status.value);
  ::_exit(exit_code::kSignalBase + status.value);
}

}  // namespace

Error join_run(const std::string& folder, const Environment& environment) {
  auto joining = joining_from(environment);
  if (!joining) return joining.error();
  const pid_t parent = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // of a killed mpirun nothing stays
  const UniqueFd launcher(open_pidfd(parent));
  if (!launcher || ::getppid() != parent) ::_exit(exit_code::kInternal);
  joining->parent = static_cast<std::uint32_t>(parent);
  joining->cpus = allowed_cpus(0);
  const int pmi = pmi_descriptor(environment);
  joining->has_pmi = pmi >= 0;
  const std::string text = encode(*joining);
  if (text.size() > kMostJoinBytes) return cannot("what mpirun has set", E2BIG);
  const auto socket = connect_to(join_socket(folder));
  if (!socket) return cannot("dlaunch's agent cannot be reached (" + folder + ')', socket.error());
  if (!send_with(socket->get(), text, {launcher.get(), pmi}, joining->has_pmi ? 2 : 1))
    return cannot("dlaunch's agent cannot be told of rank " + std::to_string(joining->rank.value),
                  errno);
  // The rank's alone from now on: Hydra sees its end by it.
  if (pmi >= 0) ::close(pmi);
  const auto answer = wait_for_answer(socket->get());
  if (!answer) return {exit_code::kPreflight, "dlaunch's agent has ended"};
  if (answer->refused.empty()) end_as(answer->status);
  return {exit_code::kPreflight,
          "rank " + std::to_string(joining->rank.value) + " is not started: " + answer->refused};
}

}  // namespace dlaunch
