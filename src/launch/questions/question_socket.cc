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
#include "wire/bytes.h"
#include "wire/value.h"

namespace dlaunch {

namespace {

constexpr int kBacklog = 16;
constexpr std::size_t kSizeBytes = 4;

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

std::string framed(const std::string& value) {
  std::string bytes;
  wire::append_little_endian(static_cast<std::uint32_t>(value.size()), bytes);
  return bytes += value;
}

std::optional<std::string> take_framed(std::string& bytes, std::size_t most, bool& is_too_long) {
  if (bytes.size() < kSizeBytes) return std::nullopt;
  const auto size = wire::little_endian_at<std::uint32_t>(bytes, 0);
  is_too_long = size > most;
  if (is_too_long || bytes.size() < kSizeBytes + size) return std::nullopt;
  std::string value = bytes.substr(kSizeBytes, size);
  bytes.erase(0, kSizeBytes + size);
  return value;
}

Result<QuestionLine> QuestionLine::open(const RunView& run) {
  const std::string who = "run " + run.id;
  if (!is_live(run.state) && run.state != RunState::unknown)
    return fail(exit_code::kUsage, who + " has already ended: " + state_text(run));
  if (run.witness.record && !is_here(run.witness)) {
    return fail(exit_code::kNodeLost, who + " is on " + plain_line(run.witness.record->host) +
                                          ", not on this machine; ask it there");
  }
  auto socket = connect_to(run);
  if (!socket) return tl::unexpected(socket.error());
  return QuestionLine(who, std::move(*socket));
}

void QuestionLine::ask(const Question& question) {
  // A question is smaller than the buffer of a socket.
  (void)write_all(socket_.get(), framed(wire::encode_value(question)));
}

std::optional<Result<Reply>> QuestionLine::receive() {
  while (true) {
    bool is_too_long = false;
    if (const auto value = take_framed(in_, kMostReply, is_too_long)) {
      auto reply = wire::decode_variant<Reply>(*value);
      if (!reply) break;
      if (const auto* refusal = std::get_if<Refusal>(&*reply))
        return fail(refusal->exit_code, refusal->problem);
      return *std::move(reply);
    }
    if (is_too_long) break;
    char buffer[65536];
    const ssize_t n = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return std::nullopt;
    if (n <= 0) {
      has_ended_ = true;
      return fail(exit_code::kUsage, who_ + " has ended without an answer");
    }
    in_.append(buffer, static_cast<std::size_t>(n));
  }
  has_ended_ = true;
  return fail(exit_code::kUsage,
              who_ + " was started by another version of dlaunch; ask with that");
}

Result<Reply> QuestionLine::wait(std::chrono::milliseconds limit) {
  const MonotonicTime end = monotonic_now() + limit;
  while (true) {
    if (auto reply = receive()) return *std::move(reply);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - monotonic_now());
    pollfd ready{socket_.get(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0) {
      return fail(exit_code::kTimeLimit,
                  who_ + " has not answered within " + duration_text(limit) +
                      ": its launcher is stopped, or waits for a file system that does not answer");
    }
  }
}

}  // namespace dlaunch
