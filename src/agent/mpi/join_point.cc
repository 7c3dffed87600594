#include "agent/mpi/join_point.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/packet.h"
#include "os/private_folder.h"
#include "os/process_identity.h"

namespace dlaunch {

namespace {

constexpr std::size_t kPassed = 2;  // descriptors in a packet

tl::unexpected<StartFailure> lacks(const std::string& what, int error) {
  return tl::unexpected(StartFailure{StartFailure::Step::resources, error, what, ""});
}

/// /tmp itself is everybody's, and nobody may take away there what is ours (the sticky bit).
tl::expected<void, StartFailure> make_parent(const std::string& folder) {
  const std::string parent = folder.substr(0, folder.rfind('/'));
  if (parent == "/tmp") return {};
  const auto opened = open_private_folder(parent, true);
  if (!opened) return lacks(opened.error().message, EPERM);
  return {};
}

bool has_ended(int pidfd) {
  pollfd watched{pidfd, POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

}  // namespace

/// With what an mpirun that was killed has left in it.
void remove_join_folder(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

struct JoinPoint::Visitor {
  Visitor(EventLoop& loop, UniqueFd came) : socket(loop, std::move(came)) {}
  WatchedFd socket;
  std::optional<Rank> rank;  // for which it stands; none: it has not said so, or is refused
};

JoinPoint::JoinPoint(EventLoop& loop, Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)) {}

JoinPoint::~JoinPoint() {
  remove();
}

tl::expected<void, StartFailure> JoinPoint::open(const std::string& folder) {
  visitors_.clear();
  remove();
  constexpr std::size_t kMostPath = 4096;
  std::string own(kMostPath, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", own.data(), own.size());
  if (size <= 0) return lacks("/proc/self/exe", errno);
  own.resize(static_cast<std::size_t>(size));
  if (auto made = make_parent(folder); !made) return made;
  if (::mkdir(folder.c_str(), 0700) != 0) return lacks(folder, errno);
  folder_ = folder;
  const auto undo = [&](int error) {
    remove();
    return lacks(folder, error);
  };
  if (::symlink(own.c_str(), join_program(folder).c_str()) != 0) return undo(errno);
  auto listener = listen_for_packets(join_socket(folder));
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
  std::vector<UniqueFd> descriptors;
  const auto packet =
      receive_packet(visitor.socket.get(), kMostJoinBytes, kPassed, descriptors, false);
  if (!packet && errno == EAGAIN) {
    return visitor.socket.on_readable([this, &visitor] { hear(visitor); });
  }
  if (visitor.rank) return leave(visitor);  // it has no more to say
  auto joining = decode_joining(packet.value_or(""));
  if (!joining || descriptors.size() != (joining->has_pmi ? 2U : 1U)) return drop(visitor);
  launchers_.try_emplace(joining->parent, std::move(descriptors.front()));
  // Who stands for the rank already is another one, and goes on.
  const std::string refused =
      callbacks_.on_joined(*joining, joining->has_pmi ? std::move(descriptors[1]) : UniqueFd());
  if (!refused.empty()) return refuse(visitor, refused);
  visitor.rank = joining->rank;
  visitor.socket.on_readable([this, &visitor] { hear(visitor); });
}

void JoinPoint::refuse(Visitor& visitor, const std::string& why) {
  (void)send_packet(visitor.socket.get(), encode(JoinAnswer{{}, why}));
  drop(visitor);
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
  const auto found = std::find_if(visitors_.begin(), visitors_.end(),
                                  [&](const auto& visitor) { return visitor->rank == rank; });
  if (found == visitors_.end()) return;
  (void)send_packet((*found)->socket.get(), encode(answer));
  visitors_.erase(found);
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
