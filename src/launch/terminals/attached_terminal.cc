#include "launch/terminals/attached_terminal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "launch/terminals/leave_keys.h"
#include "launch/terminals/terminal_link.h"
#include "os/build_id.h"
#include "os/clock.h"
#include "os/terminal.h"
#include "text/plain_text.h"
#include "wire/value.h"

namespace dlaunch {

namespace {

/// The limit until the command runs.
constexpr std::chrono::seconds kAnswerLimit{20};
/// A pipe that is ready takes this much without blocking (pipe(7), PIPE_BUF).
constexpr std::size_t kMostWritten = 4096;

UniqueFd signal_pipe;  // the handlers' end

void tell_signal(int number) {
  const int error = errno;
  const char byte = static_cast<char>(number);
  (void)!::write(signal_pipe.get(), &byte, 1);
  errno = error;
}

/// Signals become bytes in a pipe. Uses handlers rather than a signalfd(2), so that signals
/// interrupt a write to a terminal that takes nothing.
Result<UniqueFd> watch_signals() {
  auto pipe = make_pipe(O_NONBLOCK);
  if (!pipe) return fail_errno(exit_code::kInternal, "pipe", pipe.error());
  signal_pipe = std::move(pipe->write);
  struct sigaction action {};
  action.sa_handler = tell_signal;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT}) {
    struct sigaction before {};
    ::sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN || number == SIGWINCH) ::sigaction(number, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
  return std::move(pipe->read);
}

/// While this object lives, each key goes to the program unchanged.
class RawMode {
 public:
  RawMode() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    raw_ = before_;
    ::cfmakeraw(&raw_);
    is_set_ = true;
    set();
  }
  ~RawMode() {
    if (is_set_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;

  /// Call it again after a shell has changed the modes while this process was stopped.
  void set() const {
    if (is_set_) ::tcsetattr(STDIN_FILENO, TCSANOW, &raw_);
  }

 private:
  termios before_{};
  termios raw_{};
  bool is_set_ = false;
};

class AttachedTerminal {
 public:
  AttachedTerminal(UniqueFd socket, UniqueFd signals, std::string who, bool is_terminal)
      : socket_(std::move(socket)),
        signals_(std::move(signals)),
        who_(std::move(who)),
        is_terminal_(is_terminal) {}

  Result<int> run() {
    const MonotonicTime limit = monotonic_now() + kAnswerLimit;
    while (!result_) {
      const bool types = runs_ && stdin_open_ && !sends_;
      const bool is_shown = shown_.empty();
      const short wanted = events(is_shown);
      // A hang-up is reported without being asked for, and has to wait while output is held back.
      std::array<pollfd, 4> watched{{{wanted == 0 ? -1 : socket_.get(), wanted, 0},
                                     {signals_.get(), POLLIN, 0},
                                     {types ? STDIN_FILENO : -1, POLLIN, 0},
                                     {is_shown ? -1 : shown_to_, POLLOUT, 0}}};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - monotonic_now());
      if (!runs_ && left.count() <= 0) return no_answer();
      if (::poll(watched.data(), watched.size(), runs_ ? -1 : static_cast<int>(left.count())) < 0)
        continue;
      if (watched[1].revents != 0) take_signals();
      if (watched[3].revents != 0) show();
      if ((watched[0].revents & POLLOUT) != 0) send();
      if ((watched[0].revents & ~POLLOUT) != 0 && is_shown) receive();
      if (watched[2].revents != 0) read_typed();
    }
    raw_.reset();
    return *std::move(result_);
  }

 private:
  [[nodiscard]] short events(bool is_shown) const {
    return static_cast<short>((is_shown ? POLLIN : 0) | (sends_ ? POLLOUT : 0));
  }

  [[nodiscard]] Result<int> no_answer() const {
    return fail(exit_code::kTimeLimit,
                who_ +
                    ": no answer within 20 s: its launcher or its node is stopped, or waits for "
                    "a file system that does not answer");
  }

  void take_signals() {
    std::array<unsigned char, 16> numbers{};
    const ssize_t n = ::read(signals_.get(), numbers.data(), numbers.size());
    for (ssize_t i = 0; i < n; ++i) {
      const int number = numbers[static_cast<std::size_t>(i)];
      if (number == SIGCONT && raw_) raw_->set();
      if (number == SIGCONT || number == SIGWINCH) {
        send_size();
      } else {
        result_ = exit_code::kSignalBase + number;
      }
    }
  }

  /// A size that could not be sent is superseded by the next.
  void send_size() {
    const auto size = terminal_size(STDOUT_FILENO);
    if (!is_terminal_ || !runs_ || !size) return;
    const wire::ResizeTerminal resize{0, static_cast<std::uint32_t>(size->rows),
                                      static_cast<std::uint32_t>(size->columns)};
    send_terminal_packet(socket_.get(), TerminalPacket::resize, wire::encode_value(resize));
  }

  void receive() {
    std::string packet(kMostTerminalPacket, '\0');
    const ssize_t n = ::recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
    // ECONNRESET is returned once, before the data that the engine sent: it means that the engine
    // has not read all that was typed.
    if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET)) return;
    if (n <= 0) {
      result_ = fail(exit_code::kInternal, who_ + ": the run's launcher has ended");
      return;
    }
    packet.resize(static_cast<std::size_t>(n));
    const std::string_view body = std::string_view(packet).substr(1);
    switch (static_cast<TerminalPacket>(packet.front())) {
      case TerminalPacket::runs:
        return begin(body);
      case TerminalPacket::out:
      case TerminalPacket::err:
        shown_to_ = packet.front() == static_cast<char>(TerminalPacket::err) ? STDERR_FILENO
                                                                             : STDOUT_FILENO;
        shown_ = body;
        return show();
      case TerminalPacket::ended:
        return end(body);
      case TerminalPacket::open:
      case TerminalPacket::input:
      case TerminalPacket::resize:
        break;
    }
  }

  void begin(std::string_view node) {
    if (std::exchange(runs_, true) || !is_terminal_) return;
    std::fprintf(stderr, "dlaunch: %s on %s; to leave a command that hangs: Enter, ~ and a dot\n",
                 who_.c_str(), plain_line(node).c_str());
    raw_.emplace();
    send_size();  // the size may have changed since the request
  }

  void end(std::string_view body) {
    const auto ended = wire::decode_value<wire::TerminalEnded>(body);
    if (!ended) {
      result_ = fail(exit_code::kInternal, who_ + ": the run's launcher sent a malformed answer");
    } else if (ended->problem.empty()) {
      result_ = ended->status.code();
    } else {
      const int code = ended->status.ok() ? exit_code::kUsage : ended->status.code();
      result_ = fail(code, who_ + ": " + plain_line(ended->problem));
    }
  }

  void show() {
    const ssize_t n = ::write(shown_to_, shown_.data(), std::min(shown_.size(), kMostWritten));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n < 0) {
      result_ = exit_code::kSignalBase + SIGPIPE;  // as cat(1) would end
      return;
    }
    shown_.erase(0, static_cast<std::size_t>(n));
  }

  void read_typed() {
    std::array<char, kTerminalPiece> bytes;
    const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    stdin_open_ = n > 0;
    std::string_view typed(bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
    if (!is_terminal_) {
      to_send_ = typed;
      return send();
    }
    LeaveKeys::Typed keys = keys_.take(typed);
    to_send_ = std::move(keys.bytes);
    if (!to_send_.empty()) send();
    // A terminal that is gone sends SIGHUP too.
    if (keys.leaves || n <= 0) result_ = exit_code::kSignalBase + SIGHUP;
  }

  /// Without bytes: the end of the input, of pipes only.
  void send() {
    const bool sent = send_terminal_packet(socket_.get(), TerminalPacket::input, to_send_);
    // The end of the socket is read after what the engine sent before.
    sends_ = !sent && (errno == EAGAIN || errno == EINTR);
  }

  UniqueFd socket_;
  UniqueFd signals_;
  const std::string who_;
  const bool is_terminal_;
  std::optional<RawMode> raw_;
  LeaveKeys keys_;
  std::string to_send_;
  bool sends_ = false;  // sends to_send_ as soon as the socket takes it
  std::string shown_;   // for shown_to_, and not written yet
  int shown_to_ = STDOUT_FILENO;
  bool runs_ = false;
  bool stdin_open_ = true;
  std::optional<Result<int>> result_;
};

/// The user's shell as the rank knows it.
std::vector<std::string> login_shell() {
  return {"/bin/sh", "-c", "[ -x \"$SHELL\" ] || SHELL=/bin/sh; exec \"$SHELL\""};
}

TerminalRequest request_for(Rank rank, std::vector<std::string> command, bool is_terminal) {
  TerminalRequest request{own_build_id(), {}};
  request.open.rank = rank;
  request.open.argv = command.empty() ? login_shell() : std::move(command);
  request.open.is_terminal = is_terminal;
  if (!is_terminal) return request;
  for (const char* name : {"TERM", "COLORTERM"}) {
    if (const char* const value = std::getenv(name)) request.open.env[name] = value;
  }
  const auto size = terminal_size(STDOUT_FILENO).value_or(TerminalSize{});
  request.open.rows = static_cast<std::uint32_t>(size.rows);
  request.open.columns = static_cast<std::uint32_t>(size.columns);
  return request;
}

}  // namespace

Result<int> attach_to_rank(RunConnection run, Rank rank, std::vector<std::string> command) {
  const std::string who = "rank " + std::to_string(rank.value) + " of run " + run.id;
  const bool is_terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  const std::string request = encode(request_for(rank, std::move(command), is_terminal));
  if (request.size() >= kMostTerminalPacket)
    return fail(exit_code::kUsage, "the command is longer than 96 KiB");
  auto signals = watch_signals();
  if (!signals) return tl::unexpected(signals.error());
  if (!send_terminal_packet(run.socket.get(), TerminalPacket::open, request))
    return fail_errno(exit_code::kInternal, who + ": cannot send the request", errno);
  return AttachedTerminal(std::move(run.socket), std::move(*signals), who, is_terminal).run();
}

}  // namespace dlaunch
