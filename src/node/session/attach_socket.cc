#include "node/session/attach_socket.h"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

#include "node/session/staged_binary.h"
#include "os/packet.h"
#include "wire/codec.h"
#include "wire/framer.h"

namespace dlaunch {

namespace {

// More than a launcher opens at once; the oldest is dropped for a new one.
constexpr std::size_t kMostCandidates = 4;
constexpr std::size_t kDescriptors = 2;
constexpr std::size_t kReadSize = 4096;
constexpr std::chrono::hours kTouchEvery{1};

}  // namespace

struct AttachSocket::Candidate {
  Candidate(EventLoop& loop, UniqueFd socket) : bringer(loop, std::move(socket)) {}
  WatchedFd bringer;
  std::unique_ptr<WatchedFd> read;
  UniqueFd write;
  wire::FrameReader reader;  // gets the Resume frame and nothing after it
};

AttachSocket::AttachSocket(EventLoop& loop, SessionId id, OnConnection on_connection)
    : loop_(loop), id_(id), on_connection_(std::move(on_connection)), touch_(loop) {}

AttachSocket::~AttachSocket() = default;

Status AttachSocket::open() {
  UniqueFd abstract = open_abstract_socket(id_);
  auto socket = open_session_socket(session_folders(), id_);
  if (!socket && !abstract) return tl::unexpected(socket.error());
  listen_at(std::move(abstract));
  keep_files();
  if (!socket) return {};
  socket_ = std::move(*socket);
  listen_at(std::move(socket_.listener));
  return {};
}

void AttachSocket::listen_at(UniqueFd listener) {
  if (!listener) return;
  listeners_.push_back(std::make_unique<Acceptor>(
      loop_, std::move(listener), [this](UniqueFd socket) { accept(std::move(socket)); }));
}

void AttachSocket::close() {
  if (listeners_.empty()) return;
  if (socket_.folder) remove_session_socket(socket_, id_);
  touch_.cancel();
  listeners_.clear();
  candidates_.clear();
}

void AttachSocket::keep_files() {
  touch_.after(kTouchEvery, [this] {
    if (socket_.folder) touch_session_socket(socket_, id_);
    mark_staged_binary_used();
    keep_files();
  });
}

void AttachSocket::accept(UniqueFd socket) {
  if (!peer_is_our_user(socket.get())) return;
  if (candidates_.size() == kMostCandidates) candidates_.erase(candidates_.begin());
  candidates_.push_back(std::make_unique<Candidate>(loop_, std::move(socket)));
  Candidate& candidate = *candidates_.back();
  candidate.bringer.on_readable([this, &candidate] { receive_descriptors(candidate); });
}

void AttachSocket::drop(Candidate& candidate) {
  std::erase_if(candidates_, [&](const auto& one) { return one.get() == &candidate; });
}

void AttachSocket::receive_descriptors(Candidate& candidate) {
  std::vector<UniqueFd> received;
  (void)receive_packet(candidate.bringer.get(), 1, kDescriptors, received, false);
  if (received.size() != kDescriptors) return drop(candidate);
  candidate.read = std::make_unique<WatchedFd>(loop_, std::move(received[0]));
  candidate.write = std::move(received[1]);
  candidate.read->on_readable([this, &candidate] { read_resume(candidate); });
}

void AttachSocket::read_resume(Candidate& candidate) {
  wire::FrameReader& reader = candidate.reader;
  const std::size_t wanted = std::min(reader.missing(), kReadSize);
  const ssize_t n = ::read(candidate.read->get(), reader.room(wanted), wanted);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return drop(candidate);
  if (n > 0) reader.took(static_cast<std::size_t>(n));
  const auto frame = reader.next();
  if (!frame) return drop(candidate);
  if (*frame) return take(candidate, **frame);
  candidate.read->on_readable([this, &candidate] { read_resume(candidate); });
}

void AttachSocket::take(Candidate& candidate, const wire::Frame& frame) {
  const auto message = wire::decode<wire::ChannelMessage>(frame);
  const auto* resume = message ? std::get_if<wire::Resume>(&*message) : nullptr;
  const bool for_us = frame.session == id_.session && frame.node == id_.node;
  if (!for_us || resume == nullptr || resume->connection <= latest_) return drop(candidate);
  latest_ = resume->connection;
  NewConnection connection{duplicate(candidate.read->get()), std::move(candidate.write),
                           duplicate(candidate.bringer.get()), *resume};
  drop(candidate);
  if (connection.read && connection.bringer) on_connection_(std::move(connection));
}

}  // namespace dlaunch
