#include "launch/questions/question_socket.h"

#include <cerrno>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/questions/run_socket.h"
#include "os/clock.h"
#include "text/duration_text.h"
#include "wire/bytes.h"
#include "wire/value.h"

namespace dlaunch {

namespace {

constexpr std::size_t kSizeBytes = 4;

}  // namespace

std::string framed(const std::string& value) {
  std::string bytes;
  wire::append_little_endian(static_cast<std::uint32_t>(value.size()), bytes);
  return bytes += value;
}

std::optional<std::string> take_framed(std::string& bytes, std::size_t most, bool& is_too_long) {
  if (bytes.size() < kSizeBytes) return std::nullopt;
  const auto size = wire::little_endian_at<std::uint32_t>(bytes, 0);
  is_too_long = size > most;
  if (is_too_long || bytes.size() < kSizeBytes + size) return std::nullopt;
  std::string value = bytes.substr(kSizeBytes, size);
  bytes.erase(0, kSizeBytes + size);
  return value;
}

void QuestionLine::ask(const Question& question) {
  // A question is smaller than the buffer of a socket. receive() finds out if the run has gone.
  const std::string bytes = framed(wire::encode_value(question));
  (void)::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

std::optional<Result<Reply>> QuestionLine::receive() {
  while (true) {
    bool is_too_long = false;
    if (const auto value = take_framed(in_, kMostReply, is_too_long)) {
      auto reply = wire::decode_variant<Reply>(*value);
      if (!reply) break;
      if (const auto* refusal = std::get_if<Refusal>(&*reply))
        return fail(refusal->exit_code, refusal->problem);
      return *std::move(reply);
    }
    if (is_too_long) break;
    char buffer[65536];
    const ssize_t n = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return std::nullopt;
    if (n <= 0) {
      has_ended_ = true;
      return fail(exit_code::kUsage, who_ + " ended without an answer");
    }
    in_.append(buffer, static_cast<std::size_t>(n));
  }
  has_ended_ = true;
  return fail(exit_code::kUsage,
              who_ + " was started by another version of dlaunch; use that one");
}

Result<Reply> QuestionLine::wait(std::chrono::milliseconds limit) {
  const MonotonicTime end = monotonic_now() + limit;
  while (true) {
    if (auto reply = receive()) return *std::move(reply);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - monotonic_now());
    pollfd ready{socket_.get(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0) {
      return fail(exit_code::kTimeLimit,
                  who_ + " did not answer within " + duration_text(limit) +
                      ": its launcher is stopped, or waits for a file system that does not answer");
    }
  }
}

}  // namespace dlaunch
