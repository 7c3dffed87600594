#include "launch/keep/keeper_socket.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/acceptor.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/packet.h"
#include "os/random.h"

namespace dlaunch {

namespace {

constexpr std::string_view kPrefix = "keeper-";
constexpr std::string_view kHidden = ".newkeeper-";
constexpr std::time_t kYoung = 60;
constexpr std::string_view kGreeting = "dlaunch keeper ";
constexpr std::chrono::seconds kGreetingLimit{1};
constexpr std::size_t kDescriptors = 2;
constexpr std::chrono::minutes kTurnLimit{10};  // for another `up`, which may ask for passwords
constexpr useconds_t kTurnPoll = 20'000;

std::string folder_path() {
  return "/tmp/dlaunch-" + std::to_string(::geteuid());
}

/// Goes through a descriptor of the checked folder, so that another folder cannot take its place.
std::string path_in(const UniqueFd& folder, const std::string& name) {
  return "/proc/self/fd/" + std::to_string(folder.get()) + '/' + name;
}

/// Whether the socket is so old that a live keeper would listen at it by now.
bool is_old(const UniqueFd& folder, const std::string& name) {
  struct stat about {};
  return ::fstatat(folder.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::time(nullptr) - about.st_mtime >= kYoung;
}

UniqueFd connect_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  return socket;
}

}  // namespace

std::string keeper_greeting(const std::string& build_id) {
  return std::string(kGreeting) + build_id;
}

std::optional<std::string> read_keeper_greeting(std::string_view packet) {
  if (!packet.starts_with(kGreeting)) return std::nullopt;
  return std::string(packet.substr(kGreeting.size()));
}

Result<KeeperSocket> KeeperSocket::open() {
  auto folder = open_private_folder(folder_path(), true);
  if (!folder) return tl::unexpected(folder.error());
  const std::string hidden = random_name(kHidden);
  const mode_t before = ::umask(0177);
  auto listener = listen_for_packets(path_in(*folder, hidden));
  ::umask(before);
  if (!listener) return fail_errno(exit_code::kInternal, folder_path(), listener.error());
  return KeeperSocket(std::move(*folder), hidden, std::move(*listener));
}

Result<void> KeeperSocket::appear() {
  const std::string name = name_.substr(kHidden.size() - kPrefix.size());
  if (::renameat(folder_.get(), name_.c_str(), folder_.get(), name.c_str()) != 0)
    return fail_errno(exit_code::kInternal, folder_path(), errno);
  name_ = name;
  return {};
}

KeeperSocket::~KeeperSocket() {
  if (folder_) ::unlinkat(folder_.get(), name_.c_str(), 0);
}

Result<UniqueFd> take_turn_to_keep(const std::function<void()>& waiting) {
  auto folder = open_private_folder(folder_path(), true);
  if (!folder) return folder;
  const MonotonicTime end = monotonic_now() + kTurnLimit;
  for (bool waits = false; ::flock(folder->get(), LOCK_EX | LOCK_NB) != 0; waits = true) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return fail_errno(exit_code::kInternal, folder_path(), errno);
    if (monotonic_now() >= end)
      return fail(exit_code::kTimeLimit, "another dlaunch up did not end within 10 minutes");
    if (!waits) waiting();
    ::usleep(kTurnPoll);
  }
  return folder;
}

std::vector<UniqueFd> connect_to_keepers() {
  std::vector<UniqueFd> found;
  const auto folder = open_private_folder(folder_path(), false);
  if (!folder) return found;
  const int copy = ::openat(folder->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy),
                                                    ::closedir);
  if (!entries) return found;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    const bool is_hidden = name.starts_with(kHidden);
    if (!name.starts_with(kPrefix) && !is_hidden) continue;
    if (is_hidden && !is_old(*folder, name)) continue;
    UniqueFd socket = connect_at(path_in(*folder, name));
    // A live keeper would be listening by now, so this is the socket of a dead one.
    if (!socket && errno == ECONNREFUSED) ::unlinkat(folder->get(), name.c_str(), 0);
    if (socket && !is_hidden && peer_is_our_user(socket.get())) found.push_back(std::move(socket));
  }
  return found;
}

std::optional<std::string> receive_from_keeper(int socket, std::vector<UniqueFd>& descriptors,
                                               bool& ended) {
  auto packet = receive_packet(socket, kMostKeepPacket, kDescriptors, descriptors, false);
  if (!packet) ended = errno != EAGAIN && errno != EINTR;
  return packet;
}

namespace {

/// nullopt: the limit has passed, or the keeper has closed the connection.
std::optional<std::string> await_packet(int socket, std::vector<UniqueFd>& descriptors,
                                        std::chrono::milliseconds limit, bool& ended) {
  const MonotonicTime end = monotonic_now() + limit;
  while (!ended) {
    if (auto packet = receive_from_keeper(socket, descriptors, ended)) return packet;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - monotonic_now());
    pollfd ready{socket, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0) break;
  }
  return std::nullopt;
}

}  // namespace

pid_t KeeperLine::pid() const {
  return peer_process(socket_.get());
}

std::string KeeperLine::build() {
  std::vector<UniqueFd> none;
  bool ended = false;
  const auto packet = await_packet(socket_.get(), none, kGreetingLimit, ended);
  return packet ? read_keeper_greeting(*packet).value_or("") : "";
}

void KeeperLine::go_away() {
  send_packet(socket_.get(), std::string(kGoAway));
}

bool KeeperLine::say(const ToKeeper& message) {
  return send_packet(socket_.get(), wire::encode_value(message));
}

Result<KeeperPacket> KeeperLine::wait(std::chrono::milliseconds limit) {
  KeeperPacket received;
  bool ended = false;
  const auto packet = await_packet(socket_.get(), received.descriptors, limit, ended);
  if (ended) return fail(exit_code::kNodeLost, "the keeper is gone");
  if (!packet) return fail(exit_code::kTimeLimit, "the keeper does not answer");
  auto message = wire::decode_variant<FromKeeper>(*packet);
  if (!message) return fail(exit_code::kInternal, "the keeper sent a malformed answer");
  received.message = *std::move(message);
  return received;
}

}  // namespace dlaunch
