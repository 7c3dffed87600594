#include "agent/join_point.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/process_identity.h"

namespace dlaunch {

namespace {

constexpr int kQueue = 1024;  // connections not yet accepted; more than a node has ranks, mostly
constexpr std::size_t kDescriptors = 2;

tl::expected<UniqueFd, int> listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return tl::unexpected(ENAMETOOLONG);
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), kQueue) != 0)
    return tl::unexpected(errno);
  return socket;
}

/// One message with its descriptors (unix(7), SCM_RIGHTS). `n` as recvmsg(2) returns.
std::string receive(int socket, std::vector<UniqueFd>& descriptors, ssize_t& n) {
  std::string text(kMostJoinBytes, '\0');
  iovec data{text.data(), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kDescriptors * sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (n <= 0) return {};
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
  text.resize((message.msg_flags & MSG_TRUNC) != 0 ? 0 : static_cast<std::size_t>(n));
  return text;
}

bool has_ended(int pidfd) {
  pollfd watched{pidfd, POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

}  // namespace

void remove_join_folder(const std::string& folder) {
  ::unlink(join_socket(folder).c_str());
  ::unlink(join_program(folder).c_str());
  ::rmdir(folder.c_str());
}

struct JoinPoint::Visitor {
  Visitor(EventLoop& loop, UniqueFd came) : socket(loop, std::move(came)) {}
  WatchedFd socket;
  std::optional<Rank> rank;  // once it has said so and was not refused
};

JoinPoint::JoinPoint(EventLoop& loop, Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)) {}

JoinPoint::~JoinPoint() {
  remove();
}

tl::expected<void, int> JoinPoint::open(const std::string& folder) {
  visitors_.clear();
  remove();
  constexpr std::size_t kMostPath = 4096;
  std::string own(kMostPath, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", own.data(), own.size());
  if (size <= 0) return tl::unexpected(errno);
  own.resize(static_cast<std::size_t>(size));
  if (::mkdir(folder.c_str(), 0700) != 0) return tl::unexpected(errno);
  folder_ = folder;
  const auto undo = [this](int error) {
    remove();
    return tl::unexpected(error);
  };
  if (::symlink(own.c_str(), join_program(folder).c_str()) != 0) return undo(errno);
  auto listener = listen_at(join_socket(folder));
  if (!listener) return undo(listener.error());
  acceptor_ = std::make_unique<Acceptor>(loop_, std::move(*listener),
                                         [this](UniqueFd socket) { let_in(std::move(socket)); });
  if (!acceptor_->listens()) return undo(EMFILE);
  return {};
}

void JoinPoint::close() {
  acceptor_.reset();
}

void JoinPoint::remove() {
  close();
  if (folder_.empty()) return;
  remove_join_folder(folder_);
  folder_.clear();
}

void JoinPoint::let_in(UniqueFd socket) {
  if (!peer_is_our_user(socket.get())) return;
  visitors_.push_back(std::make_unique<Visitor>(loop_, std::move(socket)));
  Visitor& visitor = *visitors_.back();
  visitor.socket.on_readable([this, &visitor] { hear(visitor); });
}

void JoinPoint::drop(Visitor& visitor) {
  std::erase_if(visitors_, [&](const auto& one) { return one.get() == &visitor; });
}

void JoinPoint::hear(Visitor& visitor) {
  ssize_t n = 0;
  std::vector<UniqueFd> descriptors;
  const std::string text = receive(visitor.socket.get(), descriptors, n);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
    return visitor.socket.on_readable([this, &visitor] { hear(visitor); });
  }
  if (visitor.rank) return leave(visitor);  // it has no more to say
  auto joining = decode_joining(text);
  if (!joining || descriptors.size() != (joining->has_pmi ? 2U : 1U)) return drop(visitor);
  launchers_.try_emplace(joining->parent, std::move(descriptors.front()));
  visitor.rank = joining->rank;
  visitor.socket.on_readable([this, &visitor] { hear(visitor); });
  const std::string refused =
      callbacks_.on_joined(*joining, joining->has_pmi ? std::move(descriptors[1]) : UniqueFd());
  if (!refused.empty()) answer(joining->rank, {{}, refused});
}

void JoinPoint::catch_up() {
  std::vector<Visitor*> gone;
  for (const auto& visitor : visitors_) {
    char byte = 0;
    const ssize_t n = ::recv(visitor->socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (visitor->rank && n == 0) gone.push_back(visitor.get());
  }
  for (Visitor* visitor : gone) leave(*visitor);
}

void JoinPoint::leave(Visitor& visitor) {
  const Rank rank = *visitor.rank;
  drop(visitor);
  callbacks_.on_left(rank);
}

void JoinPoint::answer(Rank rank, const JoinAnswer& answer) {
  // The last one to come under this number: a second one is refused, and told so.
  const auto found = std::find_if(visitors_.rbegin(), visitors_.rend(),
                                  [&](const auto& visitor) { return visitor->rank == rank; });
  if (found == visitors_.rend()) return;
  const std::string text = encode(answer);
  (void)!::send((*found)->socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  visitors_.erase(std::next(found).base());
}

void JoinPoint::end_launchers(std::chrono::milliseconds grace) {
  const MonotonicTime end = monotonic_now() + grace;
  for (const auto& [pid, process] : launchers_) {
    while (!has_ended(process.get()) && monotonic_now() < end) {
      pollfd watched{process.get(), POLLIN, 0};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - monotonic_now());
      (void)!::poll(&watched, 1, static_cast<int>(std::max<long>(left.count(), 1)));
    }
    if (!has_ended(process.get())) (void)signal_process(process.get(), SIGKILL);
  }
  launchers_.clear();
}

}  // namespace dlaunch
