#include "node/reach/program_door.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "model/ip_address.h"
#include "os/clock.h"
#include "os/random.h"
#include "os/reach_socket.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::size_t kTicketSize = 32;  // of random_secret()
constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr std::size_t kTurn = std::size_t{1} << 20;  // bytes sent in one turn
constexpr std::chrono::milliseconds kTick{500};

}  // namespace

/// "CLIENT PORT SERVER PORT"
std::string reached_address(const std::string& ssh_connection) {
  const std::vector<std::string_view> words = split_words(ssh_connection);
  if (words.size() != 4) return {};
  std::string address(words[2]);
  const auto ip = parse_ip(address);
  return ip && !is_loopback(*ip) ? address : std::string();
}

wire::ProgramServed ProgramDoor::serve(const wire::ServeProgram& order) {
  wire::ProgramServed answer{order.id, {}};
  if (order.ticket.size() != kTicketSize || !open()) return answer;
  tickets_.push_back({order.ticket, monotonic_now() + std::chrono::milliseconds(order.limit_ms)});
  answer.at.push_back({address_, port_});
  return answer;
}

bool ProgramDoor::open() {
  if (address_.empty()) return false;
  struct stat info {};
  if (!program_) program_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!program_ || ::fstat(program_.get(), &info) != 0) return false;
  size_ = info.st_size;
  if (listener_) return true;
  auto socket = listen_at(address_);
  port_ = socket ? local_port_of(socket->get()) : std::uint16_t{0};
  if (port_ == 0) return false;
  listener_ = std::make_unique<Acceptor>(loop_, std::move(*socket),
                                         [this](UniqueFd guest) { accept(std::move(guest)); });
  timer_.after(kTick, [this] { tick(); });
  return true;
}

void ProgramDoor::close() {
  timer_.cancel();
  listener_.reset();
  tickets_.clear();
  for (const GuestPtr& guest : guests_) guest->socket.close();
  guests_.clear();
  program_.reset();
}

/// Enforces the time limits of tickets and guests.
void ProgramDoor::tick() {
  const MonotonicTime now = monotonic_now();
  std::erase_if(tickets_, [now](const Ticket& ticket) { return ticket.until <= now; });
  dismiss_if([now](const Guest& guest) { return guest.until <= now; });
  timer_.after(kTick, [this] { tick(); });
  close_if_done();
}

void ProgramDoor::close_if_done() {
  if (!tickets_.empty()) return;
  listener_.reset();
  dismiss_if([](const Guest& guest) { return !guest.is_known; });
  if (guests_.empty()) close();
}

void ProgramDoor::accept(UniqueFd socket) {
  const auto guest = std::make_shared<Guest>(loop_, std::move(socket));
  guest->until = monotonic_now() + kGreetingLimit;
  guests_.push_back(guest);
  receive(guest);
  const auto is_stranger = [](const GuestPtr& one) { return !one->is_known; };
  if (static_cast<std::size_t>(std::count_if(guests_.begin(), guests_.end(), is_stranger)) >
      kMostGuests)
    dismiss(*std::find_if(guests_.begin(), guests_.end(), is_stranger));
}

void ProgramDoor::receive(const GuestPtr& guest) {
  guest->socket.on_readable([this, guest] {
    std::array<char, kTicketSize> bytes;
    const ssize_t n =
        ::recv(guest->socket.get(), bytes.data(), kTicketSize - guest->said.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return receive(guest);
    if (n <= 0) return dismiss(guest);
    guest->said.append(bytes.data(), static_cast<std::size_t>(n));
    if (guest->said.size() < kTicketSize) return receive(guest);
    if (!admit(*guest)) return dismiss(guest);
    send_more(guest);
    close_if_done();
  });
}

/// Whether the guest has shown a valid ticket. A ticket is accepted once.
bool ProgramDoor::admit(Guest& guest) {
  const auto ticket = std::find_if(tickets_.begin(), tickets_.end(), [&](const Ticket& one) {
    return is_same_secret(one.text, guest.said);
  });
  if (ticket == tickets_.end()) return false;
  guest.is_known = true;
  guest.until = ticket->until;
  tickets_.erase(ticket);
  return true;
}

void ProgramDoor::send_more(const GuestPtr& guest) {
  std::array<char, kPiece> piece;
  for (std::size_t turn = 0; turn < kTurn && guest->sent < size_;) {
    const ssize_t had = ::pread(program_.get(), piece.data(), piece.size(), guest->sent);
    const ssize_t n = had <= 0 ? had
                               : ::send(guest->socket.get(), piece.data(),
                                        static_cast<std::size_t>(had), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) return dismiss(guest);
    turn += static_cast<std::size_t>(n);
    guest->sent += n;
  }
  if (guest->sent == size_) return dismiss(guest, true);
  guest->socket.on_writable([this, guest] {
    send_more(guest);
    close_if_done();
  });
}

void ProgramDoor::dismiss(const GuestPtr& guest, bool has_all) {
  // The caller's reference may be to an element that is erased here.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const GuestPtr kept = guest;
  if (!has_all) reset_on_close(kept->socket.get());
  kept->socket.close();
  std::erase(guests_, kept);
}

void ProgramDoor::dismiss_if(const std::function<bool(const Guest&)>& is_meant) {
  const std::vector<GuestPtr> all = guests_;
  for (const GuestPtr& guest : all) {
    if (is_meant(*guest)) dismiss(guest);
  }
}

}  // namespace dlaunch
