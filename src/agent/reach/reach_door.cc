#include "agent/reach/reach_door.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "os/reach_socket.h"

namespace dlaunch {

namespace {

/// More wait in the kernel's queue until one has left. A stranger who only connects holds a place
/// until the door closes, at most for some seconds.
constexpr std::size_t kMostGuests = 512;

/// The time it takes does not tell how much was right.
bool is_same(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

}  // namespace

wire::DoorOpen ReachDoor::open(const wire::OpenDoor& door, ReservedPort* held) {
  close();
  door_ = door;
  held_ = held;
  wire::DoorOpen opened;
  opened.id = door.id;
  opened.errors.assign(door.addresses.size(), held == nullptr ? EBADF : 0);
  if (held == nullptr) return opened;
  const auto add = [&](tl::expected<UniqueFd, int> listener) {
    if (!listener) return listener.error();
    listeners_.push_back(std::make_unique<Acceptor>(
        loop_, std::move(*listener), [this](UniqueFd socket) { let_in(std::move(socket)); }));
    return 0;
  };
  if (door.any_address) {
    const int error = add(listen_everywhere(*held));
    listens_everywhere_ = error == 0;
    std::fill(opened.errors.begin(), opened.errors.end(), error);
  } else {
    for (std::size_t i = 0; i < door.addresses.size(); ++i)
      opened.errors[i] = add(listen_beside(*held, door.addresses[i]));
  }
  limit_.after(std::chrono::milliseconds(door.limit_ms), [this] { close(); });
  return opened;
}

void ReachDoor::close() {
  limit_.cancel();
  listeners_.clear();
  if (held_ != nullptr && listens_everywhere_) stop_listening(*held_);
  listens_everywhere_ = false;
  held_ = nullptr;
  for (const auto& guest : guests_) {
    if (guest->socket.get() >= 0) reset_on_close(guest->socket.get());
    guest->socket.close();
  }
  guests_.clear();
  is_full_ = false;
}

void ReachDoor::let_in(UniqueFd socket) {
  const auto guest = std::make_shared<Guest>(loop_, std::move(socket));
  guests_.push_back(guest);
  hear(guest);
  if (guests_.size() < kMostGuests) return;
  is_full_ = true;  // show_out() opens again
  for (const auto& listener : listeners_) listener->hold();
}

void ReachDoor::hear(const std::shared_ptr<Guest>& guest) {
  guest->socket.on_readable([this, guest] {
    std::array<char, 256> bytes;
    const ssize_t n = ::recv(guest->socket.get(), bytes.data(), bytes.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return hear(guest);
    if (n <= 0) return show_out(guest);
    guest->said.append(bytes.data(), static_cast<std::size_t>(n));
    if (guest->answered || guest->said.size() > door_.nonce.size()) return show_out(guest);
    if (guest->said.size() == door_.nonce.size()) {
      if (!is_same(guest->said, door_.nonce)) return show_out(guest);
      answer(*guest);
    }
    hear(guest);  // the guest leaves first: TIME_WAIT is then on its side, not on rank 0's port
  });
}

void ReachDoor::answer(Guest& guest) {
  guest.answered = true;
  // Some bytes into an empty socket: they fit.
  const ssize_t sent =
      ::send(guest.socket.get(), door_.answer.data(), door_.answer.size(), MSG_NOSIGNAL);
  static_cast<void>(sent);
}

void ReachDoor::show_out(const std::shared_ptr<Guest>& guest) {
  // A guest that has left properly is closed without a trace; any other is reset.
  std::array<char, 1> rest;
  const bool has_left = ::recv(guest->socket.get(), rest.data(), rest.size(), MSG_PEEK) == 0;
  if (!has_left) reset_on_close(guest->socket.get());
  guest->socket.close();
  std::erase(guests_, guest);
  if (!is_full_) return;
  is_full_ = false;
  for (const auto& listener : listeners_) listener->go_on();
}

}  // namespace dlaunch
