#include "node/stage/stage_door.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include "node/stage/stage_files.h"
#include "os/clock.h"
#include "os/random.h"
#include "os/reach_socket.h"
#include "sync/blocks.h"
#include "sync/pieces.h"
#include "wire/bytes.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostWaiting = std::size_t{256} << 10;  // bytes sealed but not sent
constexpr std::size_t kTurn = 16;                             // messages made in one turn
constexpr std::chrono::milliseconds kTick{500};

}  // namespace

std::string stage_greeting(const StageKey& key, std::uint64_t position) {
  std::string greeting = key.ticket;
  std::string number;
  wire::append_little_endian(position, number);
  SealedSender(key.up).seal(number, greeting);
  return greeting;
}

std::optional<std::uint64_t> read_stage_greeting(const StageKey& key, std::string_view greeting) {
  if (greeting.size() != kGreetingBytes || !is_same_secret(greeting.substr(0, kSealKeyBytes), key.ticket))
    return std::nullopt;
  SealedReceiver receiver(key.up, kPositionBytes);
  receiver.feed(greeting.substr(kSealKeyBytes));
  std::string number;
  if (receiver.next(number) != SealedReceiver::Outcome::frame || number.size() != kPositionBytes)
    return std::nullopt;
  return wire::little_endian_at<std::uint64_t>(number, 0);
}

StageDoor::StageDoor(EventLoop& loop, Blocks blocks, wire::StageServe order)
    : loop_(loop),
      blocks_(std::move(blocks)),
      order_(std::move(order)),
      until_(monotonic_now() + std::chrono::milliseconds(order_.limit_ms)),
      timer_(loop) {
  const StageKey& key = order_.key;
  if (key.ticket.size() != kSealKeyBytes || key.up.size() != kSealKeyBytes ||
      key.down.size() != kSealKeyBytes)
    return;
  for (const std::string& address : order_.addresses) {
    auto listener = listen_at(address);
    const std::uint16_t port = listener ? local_port_of(listener->get()) : std::uint16_t{0};
    if (port == 0) continue;
    listeners_.push_back(std::make_unique<Acceptor>(
        loop_, std::move(*listener), [this](UniqueFd socket) { accept(std::move(socket)); }));
    addresses_.push_back({address, port});
  }
  if (listens()) tick();
}

void StageDoor::close() {
  timer_.cancel();
  listeners_.clear();
  for (const auto& guest : guests_) guest->socket.close();
  guests_.clear();
  if (connection_) connection_->guest->socket.close();
  connection_.reset();
}

/// Enforces the time limits of the guests and of the door.
void StageDoor::tick() {
  const MonotonicTime now = monotonic_now();
  if (now >= until_) return close();
  while (!guests_.empty() && guests_.front()->until <= now) dismiss(guests_.front());
  timer_.after(kTick, [this] { tick(); });
}

void StageDoor::accept(UniqueFd socket) {
  const auto guest = std::make_shared<Guest>(loop_, std::move(socket));
  guest->until = monotonic_now() + kGreetingLimit;
  guest->address = peer_address_of(guest->socket.get());
  guests_.push_back(guest);
  receive(guest);
  if (guests_.size() > kMostGuests) dismiss(least_welcome());
}

/// The oldest guest of all addresses from which most have come.
std::shared_ptr<StageDoor::Guest> StageDoor::least_welcome() const {
  std::map<std::string, std::size_t> counts;
  for (const auto& guest : guests_) ++counts[guest->address];
  std::size_t most = 0;
  for (const auto& [address, count] : counts) most = std::max(most, count);
  return *std::find_if(guests_.begin(), guests_.end(),
                       [&](const auto& guest) { return counts.at(guest->address) == most; });
}

void StageDoor::receive(const std::shared_ptr<Guest>& guest) {
  guest->socket.on_readable([this, guest] {
    std::array<char, kGreetingBytes> bytes;
    const std::size_t room = kGreetingBytes - guest->said.size();
    const ssize_t n = ::recv(guest->socket.get(), bytes.data(), room, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return receive(guest);
    if (n <= 0) return dismiss(guest);
    guest->said.append(bytes.data(), static_cast<std::size_t>(n));
    if (guest->said.size() < kGreetingBytes) return receive(guest);
    const auto position = read_stage_greeting(order_.key, guest->said);
    if (!position) return dismiss(guest);
    connect(guest, *position);
  });
}

void StageDoor::dismiss(const std::shared_ptr<Guest>& guest) {
  // The caller's reference may be to the element that is erased.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const std::shared_ptr<Guest> kept = guest;
  reset_on_close(kept->socket.get());
  kept->socket.close();
  std::erase(guests_, kept);
}

/// The key was used, so no other guest is heard.
void StageDoor::connect(const std::shared_ptr<Guest>& guest, std::uint64_t position) {
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): as above
  const std::shared_ptr<Guest> kept = guest;
  std::erase(guests_, kept);
  close();
  connection_.emplace(Connection{kept, SealedSender(order_.key.down), position});
  connection_->sender.seal({}, connection_->out);  // the answer, by which the guest recognizes us
  watch_end();
  send_more();
}

void StageDoor::watch_end() {
  connection_->guest->socket.on_readable([this] {
    if (!connection_) return;
    char byte = 0;
    const ssize_t n = ::recv(connection_->guest->socket.get(), &byte, 1, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return watch_end();
    close();  // a guest sends nothing after its greeting: this is the end
  });
}

/// False: no block can be added now.
bool StageDoor::fill() {
  Connection& to = *connection_;
  if (to.out.size() - to.sent >= kMostWaiting || to.position >= blocks_.position()) return false;
  std::string pieces;
  while (to.position < blocks_.position() &&
         (pieces.empty() || pieces.size() + sync::kBlockBytes <= sync::kMostPieces)) {
    if (!blocks_.append(to.position, pieces)) {
      close();  // another source then feeds the next node
      return false;
    }
    ++to.position;
  }
  to.out.erase(0, std::exchange(to.sent, 0));
  to.sender.seal(pieces, to.out);
  return true;
}

void StageDoor::send_more() {
  if (!connection_ || connection_->waits) return;
  for (std::size_t turn = 0; turn < kTurn;) {
    while (turn < kTurn && connection_ && fill()) ++turn;
    if (!connection_) return;
    Connection& to = *connection_;
    if (to.sent == to.out.size()) return;
    const ssize_t n = ::send(to.guest->socket.get(), to.out.data() + to.sent,
                             to.out.size() - to.sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return close();
    if (n < 0) break;
    to.sent += static_cast<std::size_t>(n);
  }
  connection_->waits = true;
  connection_->guest->socket.on_writable([this] {
    if (!connection_) return;
    connection_->waits = false;
    send_more();
  });
}

StageDoor::Blocks blocks_of(StageFiles& files) {
  return {
      .position = [&files] { return files.position(); },
      .append = [&files, reader = std::make_shared<StageFiles::Reader>()](
                    std::uint64_t position,
                    std::string& pieces) { return files.read(position, *reader, pieces) == 0; }};
}

}  // namespace dlaunch
