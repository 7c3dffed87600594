#include "node/mpi/join_listener.h"

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
#include "os/files.h"
#include "os/packet.h"
#include "os/proc_file.h"
#include "os/process_identity.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostDescriptors = 2;  // in a packet

tl::unexpected<StartFailure> lacks(const std::string& what, int error) {
  return tl::unexpected(StartFailure{StartFailure::Step::resources, error, what, ""});
}

/// /tmp itself is shared, but its sticky bit protects a folder of ours in it.
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

void remove_join_folder(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

struct JoinListener::Proxy {
  Proxy(EventLoop& loop, UniqueFd fd) : socket(loop, std::move(fd)) {}
  WatchedFd socket;
  std::optional<Rank> rank;  // none: it has not joined yet, or was refused
};

JoinListener::JoinListener(EventLoop& loop, Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)) {}

JoinListener::~JoinListener() {
  remove();
}

tl::expected<void, StartFailure> JoinListener::open(const std::string& folder) {
  proxies_.clear();
  remove();
  const std::string own = link_target("/proc/self/exe");
  if (own.empty()) return lacks("/proc/self/exe", errno);
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
                                         [this](UniqueFd socket) { accept(std::move(socket)); });
  if (!acceptor_->listens()) return undo(EMFILE);
  return {};
}

void JoinListener::close() {
  acceptor_.reset();
}

void JoinListener::remove() {
  close();
  if (folder_.empty()) return;
  remove_join_folder(folder_);
  folder_.clear();
}

void JoinListener::accept(UniqueFd socket) {
  if (!peer_is_our_user(socket.get())) return;
  proxies_.push_back(std::make_unique<Proxy>(loop_, std::move(socket)));
  Proxy& proxy = *proxies_.back();
  proxy.socket.on_readable([this, &proxy] { receive(proxy); });
}

void JoinListener::drop(Proxy& proxy) {
  std::erase_if(proxies_, [&](const auto& one) { return one.get() == &proxy; });
}

void JoinListener::receive(Proxy& proxy) {
  std::vector<UniqueFd> descriptors;
  const auto packet =
      receive_packet(proxy.socket.get(), kMostJoinBytes, kMostDescriptors, descriptors, false);
  if (!packet && errno == EAGAIN) {
    return proxy.socket.on_readable([this, &proxy] { receive(proxy); });
  }
  if (proxy.rank) return leave(proxy);  // only the proxy's end can still come
  auto joining = decode_joining(packet.value_or(""));
  if (!joining || descriptors.size() != (joining->has_pmi ? 2U : 1U)) return drop(proxy);
  launchers_.try_emplace(joining->parent, std::move(descriptors.front()));
  const std::string refused =
      callbacks_.on_joined(*joining, joining->has_pmi ? std::move(descriptors[1]) : UniqueFd());
  if (!refused.empty()) return refuse(proxy, refused);
  proxy.rank = joining->rank;
  proxy.socket.on_readable([this, &proxy] { receive(proxy); });
}

void JoinListener::refuse(Proxy& proxy, const std::string& why) {
  (void)send_packet(proxy.socket.get(), encode(JoinAnswer{{}, why}));
  drop(proxy);
}

void JoinListener::catch_up() {
  std::vector<Proxy*> ended;
  for (const auto& proxy : proxies_) {
    char byte = 0;
    const ssize_t n = ::recv(proxy->socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (proxy->rank && n == 0) ended.push_back(proxy.get());
  }
  for (Proxy* proxy : ended) leave(*proxy);
}

void JoinListener::leave(Proxy& proxy) {
  const Rank rank = *proxy.rank;
  drop(proxy);
  callbacks_.on_left(rank);
}

void JoinListener::answer(Rank rank, const JoinAnswer& answer) {
  const auto found = std::find_if(proxies_.begin(), proxies_.end(),
                                  [&](const auto& proxy) { return proxy->rank == rank; });
  if (found == proxies_.end()) return;
  (void)send_packet((*found)->socket.get(), encode(answer));
  proxies_.erase(found);
}

void JoinListener::end_launchers(std::chrono::milliseconds grace) {
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
