#include "node/session/next_session.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <poll.h>
#include <unistd.h>

#include "os/clock.h"
#include "wire/bytes.h"
#include "wire/codec.h"
#include "wire/frame.h"

namespace dlaunch {

namespace {

constexpr std::size_t kReadSize = 4096;

/// False: the connection has ended.
bool read_more(LeftConnection& connection) {
  char bytes[kReadSize];
  const ssize_t n = ::read(connection.read.get(), bytes, sizeof bytes);
  if (n > 0) connection.early.append(bytes, static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

NextFrame look_for_hello(std::string& bytes, SessionId last, SessionId& next) {
  const std::uint16_t hello = wire::encode(wire::Hello{}).type;
  while (bytes.size() >= wire::kHeaderSize) {
    const auto length = wire::little_endian_at<std::uint32_t>(bytes, 0);
    const auto type = wire::little_endian_at<std::uint16_t>(bytes, 4);
    const SessionId id{wire::little_endian_at<std::uint64_t>(bytes, 12),
                       wire::little_endian_at<std::uint32_t>(bytes, 8)};
    if (id.session != last.session || id.node != last.node) {
      next = id;
      return type == hello ? NextFrame::hello : NextFrame::other;
    }
    if (length > wire::kMaxPayload) return NextFrame::other;
    if (bytes.size() < wire::kHeaderSize + length) return NextFrame::incomplete;
    bytes.erase(0, wire::kHeaderSize + length);
  }
  return NextFrame::incomplete;
}

std::optional<SessionId> wait_for_session(LeftConnection& connection, SessionId last,
                                          const UniqueFd& guardian_pidfd,
                                          std::chrono::milliseconds limit,
                                          std::chrono::milliseconds every,
                                          const std::function<void()>& beat) {
  const MonotonicTime end = monotonic_now() + limit;
  while (monotonic_now() < end) {
    SessionId next;
    const NextFrame found = look_for_hello(connection.early, last, next);
    if (found == NextFrame::hello) return next;
    if (found == NextFrame::other) return std::nullopt;
    beat();
    std::array<pollfd, 2> watched{
        {{connection.read.get(), POLLIN, 0}, {guardian_pidfd.get(), POLLIN, 0}}};
    (void)::poll(watched.data(), watched.size(), static_cast<int>(every.count()));
    if (watched[1].revents != 0) return std::nullopt;
    if (watched[0].revents != 0 && !read_more(connection)) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace dlaunch
