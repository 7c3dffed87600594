#include "launch/terminals/terminal_side.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/questions/run_socket.h"
#include "launch/terminals/terminal_link.h"
#include "os/build_id.h"
#include "wire/value.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostGuests = 32;
/// A peer that asks for nothing is dropped after this time.
constexpr std::chrono::seconds kPatience{30};
/// Interval between checks whether a peer whose input waits has hung up.
constexpr std::chrono::seconds kLook{1};

bool has_hung_up(int socket) {
  pollfd watched{socket, POLLRDHUP, 0};
  return ::poll(&watched, 1, 0) > 0;
}

}  // namespace

/// A `dlaunch attach`.
struct TerminalSide::Guest {
  Guest(EventLoop& loop, std::uint32_t number, UniqueFd fd)
      : id(number), socket(loop, std::move(fd)), patience(loop), look(loop) {}
  struct Packet {
    TerminalPacket kind;
    std::string body;
  };
  std::uint32_t id;
  WatchedFd socket;
  Timer patience;
  Timer look;
  NodeId node;
  bool is_open = false;  // the node was asked, and has not said that it ended
  bool runs = false;
  std::uint64_t typed = 0;  // bytes to the node
  std::uint64_t typed_taken = 0;
  std::uint64_t shown = 0;  // bytes that the user has taken
  std::deque<Packet> waiting;
  bool reads = false;   // a callback is set
  bool writes = false;  // likewise
  bool looks = false;   // likewise
};

TerminalSide::TerminalSide(EventLoop& loop, Nodes& nodes) : loop_(loop), nodes_(nodes) {}

TerminalSide::~TerminalSide() {
  close();
}

Status TerminalSide::open(const std::string& run_folder) {
  auto listener = open_run_socket(run_folder, kTerminalSocket, SOCK_SEQPACKET);
  if (!listener) return tl::unexpected(listener.error());
  socket_path_ = run_folder + '/' + kTerminalSocket;
  acceptor_ = std::make_unique<Acceptor>(loop_, std::move(*listener),
                                         [this](UniqueFd fd) { let_in(std::move(fd)); });
  return {};
}

void TerminalSide::close() {
  if (socket_path_.empty()) return;
  ::unlink(std::exchange(socket_path_, "").c_str());
  acceptor_.reset();
  for (const auto& [id, guest] : std::exchange(guests_, {})) {
    if (guest->is_open) nodes_.send(guest->node, wire::CloseTerminal{id});
    send_terminal_packet(guest->socket.get(), TerminalPacket::ended,
                         wire::encode_value(wire::TerminalEnded{id, "the run has ended", {}}));
  }
}

void TerminalSide::let_in(UniqueFd socket) {
  if (!peer_is_our_user(socket.get()) || !has_room()) return;
  const std::uint32_t id = ++id_;
  Guest& guest = *(guests_[id] = std::make_unique<Guest>(loop_, id, std::move(socket)));
  guest.patience.after(kPatience, [this, &guest] { drop(guest); });
  watch(guest);
}

/// A user may be slow to read the rest of a command that has ended, but not at the cost of a new
/// guest.
bool TerminalSide::has_room() {
  if (guests_.size() < kMostGuests) return true;
  const auto ended = std::ranges::find_if(guests_, [](const auto& one) {
    return !one.second->is_open && !one.second->waiting.empty();
  });
  if (ended == guests_.end()) return false;
  drop(*ended->second);
  return true;
}

/// Reads only while the node may get more.
void TerminalSide::watch(Guest& guest) {
  if (guest.typed - guest.typed_taken > wire::kMostTerminal - kTerminalPiece) {
    if (std::exchange(guest.looks, true)) return;
    return guest.look.after(kLook, [this, &guest] {
      guest.looks = false;
      if (has_hung_up(guest.socket.get())) return drop(guest);
      watch(guest);
    });
  }
  if (std::exchange(guest.reads, true)) return;
  guest.socket.on_readable([this, &guest] {
    guest.reads = false;
    read(guest);
  });
}

void TerminalSide::read(Guest& guest) {
  std::string packet(kMostTerminalPacket, '\0');
  const ssize_t n =
      ::recv(guest.socket.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return watch(guest);
  if (n <= 0 || static_cast<std::size_t>(n) > packet.size()) return drop(guest);
  packet.resize(static_cast<std::size_t>(n));
  take(guest, packet);
}

void TerminalSide::take(Guest& guest, const std::string& packet) {
  if (!guest.is_open && !guest.waiting.empty()) return;  // will be told that its terminal has ended
  const std::string_view body = std::string_view(packet).substr(1);
  switch (static_cast<TerminalPacket>(packet.front())) {
    case TerminalPacket::open:
      return guest.is_open ? drop(guest) : begin(guest, body);
    case TerminalPacket::input:
      if (!guest.is_open || body.size() > kTerminalPiece) return drop(guest);
      guest.typed += body.size();
      nodes_.send(guest.node, wire::TerminalInput{guest.id, std::string(body)});
      return watch(guest);
    case TerminalPacket::resize: {
      const auto resize = wire::decode_value<wire::ResizeTerminal>(body);
      if (!guest.is_open || !resize) return drop(guest);
      nodes_.send(guest.node, wire::ResizeTerminal{guest.id, resize->rows, resize->columns});
      return watch(guest);
    }
    case TerminalPacket::runs:
    case TerminalPacket::out:
    case TerminalPacket::err:
    case TerminalPacket::ended:
      return drop(guest);
  }
  drop(guest);
}

void TerminalSide::begin(Guest& guest, std::string_view body) {
  guest.patience.cancel();
  const auto refuse = [&](std::string why) {
    end(guest, {guest.id, std::move(why), {false, exit_code::kUsage}});
  };
  auto request = decode_terminal_request(body);
  if (!request || request->build_id != own_build_id())
    return refuse("the run was started by another version of dlaunch; use that one");
  if (plan_ == nullptr) return refuse("no rank of the run is running now");
  wire::OpenTerminal& open = request->open;
  if (open.rank.value >= plan_->ranks.size()) {
    return refuse("the run has no rank " + std::to_string(open.rank.value) +
                  ": its ranks are 0 to " + std::to_string(plan_->ranks.size() - 1));
  }
  open.id = guest.id;
  open.attempt = plan_->attempt;
  guest.node = plan_->node_of(open.rank);
  guest.is_open = true;
  nodes_.send(guest.node, open);
  watch(guest);
}

TerminalSide::Guest* TerminalSide::find(NodeId node, std::uint32_t id) {
  const auto found = guests_.find(id);
  const bool is_its =
      found != guests_.end() && found->second->is_open && found->second->node == node;
  return is_its ? found->second.get() : nullptr;
}

void TerminalSide::on(NodeId node, const wire::TerminalOutput& output) {
  Guest* const guest = find(node, output.id);
  if (guest == nullptr) return;
  const auto kind = output.stream == Stream::err ? TerminalPacket::err : TerminalPacket::out;
  guest->waiting.push_back({kind, output.bytes});
  flush(*guest);
}

void TerminalSide::on(NodeId node, const wire::TerminalTaken& taken) {
  Guest* const guest = find(node, taken.id);
  if (guest == nullptr || taken.up_to > guest->typed) return;
  guest->typed_taken = std::max(guest->typed_taken, taken.up_to);
  watch(*guest);
  if (std::exchange(guest->runs, true)) return;
  guest->waiting.push_back({TerminalPacket::runs, nodes_.cluster().name_of(node)});
  flush(*guest);
}

void TerminalSide::on(NodeId node, const wire::TerminalEnded& ended) {
  if (Guest* const guest = find(node, ended.id)) end(*guest, ended);
}

void TerminalSide::node_lost(NodeId node) {
  std::vector<Guest*> its;
  for (const auto& [id, guest] : guests_) {
    if (guest->is_open && guest->node == node) its.push_back(guest.get());
  }
  for (Guest* const guest : its) {
    end(*guest, {guest->id,
                 nodes_.cluster().name_of(node) + ": the node is lost",
                 {false, exit_code::kNodeLost}});
  }
}

void TerminalSide::end(Guest& guest, const wire::TerminalEnded& ended) {
  guest.is_open = false;
  guest.waiting.push_back({TerminalPacket::ended, wire::encode_value(ended)});
  flush(guest);
}

void TerminalSide::flush(Guest& guest) {
  const std::uint64_t before = guest.shown;
  while (!guest.waiting.empty()) {
    const Guest::Packet& next = guest.waiting.front();
    if (!send_terminal_packet(guest.socket.get(), next.kind, next.body)) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return drop(guest);
      break;
    }
    const bool is_last = next.kind == TerminalPacket::ended;
    const bool is_output = next.kind == TerminalPacket::out || next.kind == TerminalPacket::err;
    if (is_output) guest.shown += next.body.size();
    guest.waiting.pop_front();
    if (is_last) return drop(guest);
  }
  if (guest.shown != before && guest.is_open)
    nodes_.send(guest.node, wire::TerminalTaken{guest.id, guest.shown});
  if (guest.waiting.empty() || std::exchange(guest.writes, true)) return;
  guest.socket.on_writable([this, &guest] {
    guest.writes = false;
    flush(guest);
  });
}

void TerminalSide::drop(Guest& guest) {
  if (guest.is_open) nodes_.send(guest.node, wire::CloseTerminal{guest.id});
  guests_.erase(guest.id);
}

}  // namespace dlaunch
