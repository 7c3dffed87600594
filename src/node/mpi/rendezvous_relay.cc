#include "node/mpi/rendezvous_relay.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node/pmi/world_size.h"
#include "text/number.h"

namespace dlaunch {

namespace {

constexpr std::size_t kPiece = 16384;
constexpr int kQueue = 16;
constexpr std::size_t kMostLine = 4096;
constexpr std::size_t kMostLinks = 64;  // per forwarder: any user of this machine may connect

sockaddr_in loopback_address(const std::string& address, std::uint16_t port) {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_port = htons(port);
  ::inet_pton(AF_INET, address.c_str(), &made.sin_addr);
  return made;
}

UniqueFd tcp_socket() {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (socket) ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

}  // namespace

std::optional<PmixServerUri> pmix_server_uri(std::string_view text) {
  constexpr std::string_view kScheme = "tcp4://";
  const auto scheme = text.find(kScheme);
  if (scheme == std::string_view::npos) return std::nullopt;
  const std::size_t begin = scheme + kScheme.size();
  const std::string_view address = text.substr(begin);
  const auto colon = address.find(':');
  if (colon == std::string_view::npos || !address.starts_with("127.")) return std::nullopt;
  PmixServerUri uri{std::string(text.substr(0, begin)), std::string(address.substr(0, colon)), 0};
  in_addr ignored{};
  uri.port = number_of<decltype(uri.port)>(address.substr(colon + 1)).value_or(0);
  if (uri.port == 0 || ::inet_pton(AF_INET, uri.address.c_str(), &ignored) != 1)
    return std::nullopt;
  return uri;
}

void PmiProgress::add(std::string_view lines) {
  constexpr std::string_view kAbort = "cmd=abort exitcode=";
  while (true) {
    const auto newline = lines.find('\n');
    if (newline == std::string_view::npos) return;
    const std::string_view line = lines.substr(0, newline);
    lines.remove_prefix(newline + 1);
    connected = connected || line.starts_with("cmd=init pmi_version=1 ");
    asked_of_others = asked_of_others || pmi::asks_of_others(line);
    if (!line.starts_with(kAbort)) continue;
    std::int32_t value = 1;  // if the code is not a number
    std::from_chars(line.data() + kAbort.size(), line.data() + line.size(), value);
    aborted = value;
  }
}

/// Copies bytes and end of file between two sockets, in both directions.
class RendezvousRelay::Link {
 public:
  Link(EventLoop& loop, UniqueFd rank, UniqueFd launcher)
      : ends_{std::make_unique<WatchedFd>(loop, std::move(rank)),
              std::make_unique<WatchedFd>(loop, std::move(launcher))} {
    wait(0);
    wait(1);
  }

  [[nodiscard]] bool has_spoken() const {
    char byte = 0;
    return heard_ ||
           (ends_[0]->get() >= 0 && ::recv(ends_[0]->get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0);
  }
  [[nodiscard]] PmiProgress told() const {
    PmiProgress all = told_;
    std::array<char, kPiece> bytes{};  // what has not been read yet
    const int rank = ends_[0]->get();
    const ssize_t n =
        rank < 0 ? -1 : ::recv(rank, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
    if (n > 0) all.add(line_ + std::string(bytes.data(), static_cast<std::size_t>(n)));
    return all;
  }
  [[nodiscard]] bool is_over() const { return over_[0] && over_[1]; }

 private:
  // `from`: 0 is the rank, 1 is mpirun. Each direction either reads or writes, never both.
  void wait(std::size_t from) {
    ends_[from]->on_readable([this, from] { read(from); });
  }
  void read(std::size_t from) {
    std::array<char, kPiece> bytes{};
    const ssize_t n = ::recv(ends_[from]->get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return wait(from);
    if (n <= 0) return end(from);
    if (from == 0) observe({bytes.data(), static_cast<std::size_t>(n)});
    rest_[from].assign(bytes.data(), static_cast<std::size_t>(n));
    write(from);
  }
  void observe(std::string_view bytes) {
    heard_ = true;
    line_ += bytes;
    told_.add(line_);
    const auto newline = line_.rfind('\n');
    if (newline != std::string::npos) line_.erase(0, newline + 1);
    if (line_.size() > kMostLine) line_.clear();  // not PMI-1
  }
  void write(std::size_t from) {
    const int to = ends_[1 - from]->get();
    std::string& rest = rest_[from];
    const ssize_t n =
        to < 0 ? -1 : ::send(to, rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) rest.erase(0, static_cast<std::size_t>(n));
    if (rest.empty()) return wait(from);
    const bool is_full = n > 0 || (to >= 0 && (errno == EAGAIN || errno == EINTR));
    if (!is_full) return end(from);
    ends_[1 - from]->on_writable([this, from] { write(from); });
  }
  void end(std::size_t from) {
    over_[from] = true;
    if (is_over()) {
      for (const auto& one : ends_) one->close();
    } else {
      ::shutdown(ends_[1 - from]->get(), SHUT_WR);
    }
  }

  std::array<std::unique_ptr<WatchedFd>, 2> ends_;
  std::array<std::string, 2> rest_;  // read, and still to be written
  std::array<bool, 2> over_{};
  bool heard_ = false;  // the rank has sent something
  std::string line_;    // its incomplete last line
  PmiProgress told_;
};

/// Listens in place of mpirun's PMIx server and forwards connections to it.
class RendezvousRelay::Forwarder {
 public:
  Forwarder(EventLoop& loop, UniqueFd listener, PmixServerUri server)
      : loop_(loop),
        server_(std::move(server)),
        listener_fd_(listener.get()),
        acceptor_(loop, std::move(listener), [this](UniqueFd came) { forward(std::move(came)); }) {
    sockaddr_in own{};
    socklen_t size = sizeof own;
    if (::getsockname(listener_fd_, reinterpret_cast<sockaddr*>(&own), &size) == 0)
      port_ = ntohs(own.sin_port);
  }

  [[nodiscard]] bool forwards_to(const PmixServerUri& server) const {
    return server.address == server_.address && server.port == server_.port;
  }
  [[nodiscard]] std::uint16_t port() const { return acceptor_.listens() ? port_ : 0; }
  /// Also counts a connection that is still in the queue.
  [[nodiscard]] bool was_used() {
    const int came = ::accept4(listener_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (came >= 0) {
      ::close(came);
      return true;
    }
    return std::any_of(links_.begin(), links_.end(),
                       [](const auto& link) { return link->has_spoken(); }) ||
           used_;
  }

 private:
  void forward(UniqueFd came) {
    std::erase_if(links_, [this](const auto& link) {
      used_ = used_ || link->has_spoken();
      return link->is_over();
    });
    const sockaddr_in to = loopback_address(server_.address, server_.port);
    UniqueFd there = tcp_socket();
    if (links_.size() >= kMostLinks || !there) return;
    // connect(2) does not wait here; the socket becomes writable once it is connected.
    if (::connect(there.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 &&
        errno != EINPROGRESS)
      return;
    links_.push_back(std::make_unique<Link>(loop_, std::move(came), std::move(there)));
  }

  EventLoop& loop_;
  const PmixServerUri server_;
  const int listener_fd_;  // acceptor_ owns it
  std::uint16_t port_ = 0;
  bool used_ = false;
  std::vector<std::unique_ptr<Link>> links_;
  Acceptor acceptor_;
};

RendezvousRelay::RendezvousRelay(EventLoop& loop) : loop_(loop) {}

RendezvousRelay::~RendezvousRelay() = default;

UniqueFd RendezvousRelay::pass(Rank rank, UniqueFd pmi, Environment& variables) {
  RankLinks& here = ranks_[rank];
  for (auto& [name, value] : variables) {
    if (!name.starts_with("PMIX_SERVER_URI")) continue;
    const auto server = pmix_server_uri(value);
    const std::uint16_t port = server ? forward_to(here, *server) : 0;
    if (port != 0) value = server->before + "127.0.0.1:" + std::to_string(port);
  }
  int ends[2];
  if (!pmi || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return pmi;
  UniqueFd theirs(ends[1]);
  here.links.push_back(std::make_unique<Link>(loop_, UniqueFd(ends[0]), std::move(pmi)));
  return theirs;
}

/// The port of a forwarder to the server; 0 if none can be made.
std::uint16_t RendezvousRelay::forward_to(RankLinks& rank, const PmixServerUri& server) {
  for (const auto& forwarder : rank.forwarders) {
    if (forwarder->forwards_to(server)) return forwarder->port();
  }
  UniqueFd listener = tcp_socket();
  const sockaddr_in own = loopback_address("127.0.0.1", 0);
  if (!listener ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 ||
      ::listen(listener.get(), kQueue) != 0)
    return 0;
  auto forwarder = std::make_unique<Forwarder>(loop_, std::move(listener), server);
  const std::uint16_t port = forwarder->port();
  if (port != 0) rank.forwarders.push_back(std::move(forwarder));
  return port;
}

std::optional<bool> RendezvousRelay::has_met(Rank rank) {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end()) return std::nullopt;
  const auto& [links, forwarders] = found->second;
  if (links.empty() && forwarders.empty()) return std::nullopt;
  return std::any_of(links.begin(), links.end(),
                     [](const auto& link) { return link->has_spoken(); }) ||
         std::any_of(forwarders.begin(), forwarders.end(),
                     [](const auto& forwarder) { return forwarder->was_used(); });
}

std::optional<std::int32_t> RendezvousRelay::aborted(Rank rank) const {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end()) return std::nullopt;
  for (const auto& link : found->second.links) {
    if (const auto code = link->told().aborted) return code;
  }
  return std::nullopt;
}

/// Like WireUp::other_world: nullopt for a rank whose library uses PMIx.
std::optional<std::uint32_t> RendezvousRelay::other_world(Rank rank, std::uint32_t planned) const {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end()) return std::nullopt;
  PmiProgress told;
  for (const auto& link : found->second.links) {
    const PmiProgress one = link->told();
    told.connected = told.connected || one.connected;
    told.asked_of_others = told.asked_of_others || one.asked_of_others;
  }
  if (!told.connected) return std::nullopt;
  return pmi::other_world(told.asked_of_others, std::nullopt, planned);
}

void RendezvousRelay::clear() {
  ranks_.clear();
}

}  // namespace dlaunch
