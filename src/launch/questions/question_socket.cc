#include "launch/questions/question_socket.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/acceptor.h"
#include "os/clock.h"
#include "os/write_all.h"
#include "text/duration_text.h"
#include "text/plain_text.h"
#include "wire/value.h"

namespace dlaunch {

namespace {

constexpr int kBacklog = 16;

/// By a descriptor of its folder: the path may be longer than sun_path (unix(7)).
sockaddr_un address_in(const UniqueFd& folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder.get(),
                kQuestionSocket);
  return address;
}

UniqueFd open_folder(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

Result<UniqueFd> connect_to(const RunView& run) {
  const std::string who = "run " + run.id;
  const UniqueFd folder = open_folder(run.path);
  const sockaddr_un address = address_in(folder);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!folder || !socket) return fail_errno(exit_code::kInternal, "socket", errno);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EACCES || errno == EPERM)
      return fail(kNoPermission, who + " belongs to another user; only that user can ask it");
    if (errno == EAGAIN)
      return fail(exit_code::kTimeLimit, who + " does not answer: its launcher is stopped");
    return fail(exit_code::kUsage, who + " takes no questions: there is no socket in " +
                                       plain_line(run.path) +
                                       " (it has ended, or the file system has no sockets)");
  }
  // Who made run.json made the socket; another user's engine learns nothing of us.
  if (!peer_is_our_user(socket.get()))
    return fail(kNoPermission, who + " belongs to another user; only that user can ask it");
  return socket;
}

/// To the end; within the limit.
Result<std::string> read_reply(int socket, MonotonicTime end) {
  std::string bytes;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - monotonic_now());
    pollfd ready{socket, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0)
      return fail(exit_code::kTimeLimit, "");
    char buffer[65536];
    const ssize_t n = ::read(socket, buffer, sizeof buffer);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0 || bytes.size() > kMostReply) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(n));
  }
}

}  // namespace

Result<UniqueFd> open_question_socket(const std::string& run_folder) {
  const UniqueFd folder = open_folder(run_folder);
  const sockaddr_un address = address_in(folder);
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!folder || !listener) return fail_errno(exit_code::kInternal, "socket", errno);
  const mode_t before = ::umask(0177);
  const int bound =
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::umask(before);
  if (bound != 0) return fail_errno(exit_code::kInternal, "a socket in the run folder", error);
  if (::listen(listener.get(), kBacklog) != 0)
    return fail_errno(exit_code::kInternal, "listen", errno);
  return listener;
}

Result<StacksReply> ask_for_stacks(const RunView& run, const StacksQuestion& question,
                                   std::chrono::milliseconds limit) {
  const std::string who = "run " + run.id;
  if (!is_live(run.state) && run.state != RunState::unknown)
    return fail(exit_code::kUsage, who + " has already ended: " + state_text(run));
  if (run.witness.record && !is_here(run.witness)) {
    return fail(exit_code::kNodeLost, who + " is on " + plain_line(run.witness.record->host) +
                                          ", not on this machine; ask it there");
  }
  const auto socket = connect_to(run);
  if (!socket) return tl::unexpected(socket.error());
  const MonotonicTime end = monotonic_now() + limit;
  // A question is smaller than the buffer of a socket.
  (void)write_all(socket->get(), wire::encode_value(question));
  ::shutdown(socket->get(), SHUT_WR);
  const auto bytes = read_reply(socket->get(), end);
  if (!bytes) {
    return fail(exit_code::kTimeLimit,
                who + " has not answered within " + duration_text(limit) +
                    ": its launcher is stopped, or waits for a file system that does not answer");
  }
  if (bytes->empty()) return fail(exit_code::kUsage, who + " has ended without an answer");
  auto reply = wire::decode_value<StacksReply>(*bytes);
  if (!reply)
    return fail(exit_code::kUsage,
                who + " was started by another version of dlaunch; ask with that");
  if (!reply->problem.empty()) return fail(reply->exit_code, reply->problem);
  return *std::move(reply);
}

}  // namespace dlaunch
