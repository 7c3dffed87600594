#include "node/terminals/terminal_service.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>
#include <vector>

#include <unistd.h>

#include "os/clock.h"
#include "os/terminal.h"

namespace dlaunch {

namespace {

constexpr std::size_t kPiece = std::size_t{16} << 10;
constexpr std::size_t kMostAtOnce = 64;
/// Time between SIGHUP and SIGKILL, for a shell that writes its history.
constexpr std::chrono::seconds kHangUpGrace{2};

/// The program's ends of three pipes, and ours.
struct Pipes {
  BesideStreams its;
  BesideStreams ours;
};

tl::expected<Pipes, StartFailure> make_streams() {
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  if (!in || !out || !err)
    return tl::unexpected(StartFailure{StartFailure::Step::resources, EMFILE, "pipes", ""});
  return Pipes{{std::move(in->read), std::move(out->write), std::move(err->write)},
               {std::move(in->write), std::move(out->read), std::move(err->read)}};
}

}  // namespace

struct TerminalService::Outlet {
  Outlet(EventLoop& loop, Stream s, UniqueFd read_end) : stream(s), fd(loop, std::move(read_end)) {}
  Stream stream;
  WatchedFd fd;
  bool waits = false;
  bool at_end = false;
};

struct TerminalService::Terminal {
  Terminal(EventLoop& l, std::uint32_t number, std::optional<Rank> container)
      : loop(l), id(number), session{container, 0} {}
  void add(UniqueFd to_program, UniqueFd out, UniqueFd err) {
    in = std::make_unique<WatchedFd>(loop, std::move(to_program));
    outlets.push_back(std::make_unique<Outlet>(loop, Stream::out, std::move(out)));
    if (err) outlets.push_back(std::make_unique<Outlet>(loop, Stream::err, std::move(err)));
  }
  void add_terminal(UniqueFd master) {
    UniqueFd to_program = duplicate(master.get());  // before the move: argument order is not fixed
    add(std::move(to_program), std::move(master), UniqueFd());
  }
  [[nodiscard]] bool runs() const { return session.leader != 0; }

  EventLoop& loop;
  std::uint32_t id;
  Session session;  // without a leader until the container has said that the program runs
  std::unique_ptr<WatchedFd> in;
  std::vector<std::unique_ptr<Outlet>> outlets;
  std::string to_write;
  bool write_waits = false;
  bool input_ends = false;
  std::uint64_t written = 0;
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  std::optional<ExitStatus> status;
};

TerminalService::TerminalService(EventLoop& loop, Send send, ContainerService& containers)
    : loop_(loop), send_(std::move(send)), containers_(containers), kill_(loop) {}

TerminalService::~TerminalService() = default;

TerminalService::Terminal* TerminalService::find(std::uint32_t id) {
  const auto found = terminals_.find(id);
  return found == terminals_.end() ? nullptr : found->second.get();
}

void TerminalService::open(const wire::OpenTerminal& request,
                           const tl::expected<RankPlace, std::string>& place) {
  const auto refuse = [&](std::string why, int code) {
    send_(wire::TerminalEnded{request.id, std::move(why), {false, code}});
  };
  if (!place) return refuse(place.error(), exit_code::kUsage);
  if (request.argv.empty() || find(request.id) != nullptr)
    return refuse("no command", exit_code::kUsage);
  if (terminals_.size() >= kMostAtOnce)
    return refuse("too many terminals are open on its node", exit_code::kUsage);
  auto started = start(request, *place);
  if (!started) return refuse(describe(started.error()), started.error().code());
  Terminal& terminal = *(terminals_[request.id] = std::move(*started));
  if (terminal.runs()) run(terminal);
}

tl::expected<std::unique_ptr<TerminalService::Terminal>, StartFailure> TerminalService::start(
    const wire::OpenTerminal& request, const RankPlace& place) {
  auto terminal = std::make_unique<Terminal>(loop_, request.id, place.container);
  BesideStreams streams;
  if (!request.is_terminal) {
    auto pipes = make_streams();
    if (!pipes) return tl::unexpected(pipes.error());
    streams = std::move(pipes->its);
    terminal->add(std::move(pipes->ours.in), std::move(pipes->ours.out),
                  std::move(pipes->ours.err));
  } else if (!place.container) {
    auto made = make_beside_terminal({request.columns, request.rows});
    if (!made) return tl::unexpected(made.error());
    streams = std::move(made->streams);
    terminal->add_terminal(std::move(made->master));
    if (terminal->in->get() < 0)
      return tl::unexpected(StartFailure{StartFailure::Step::resources, EMFILE, "terminal", ""});
  }
  if (place.container) {
    const auto asked = containers_.start_beside(*place.container, request, streams);
    if (asked) return terminal;
    return tl::unexpected(
        StartFailure{StartFailure::Step::resources, asked.error(), "the rank's container", ""});
  }
  const auto pid = start_beside(request, place, streams);
  if (!pid) return tl::unexpected(pid.error());
  terminal->session.leader = *pid;
  return terminal;
}

void TerminalService::started(Rank rank, const BesideStarted& news, UniqueFd terminal) {
  Terminal* const mine = find(news.id);
  if (mine == nullptr) return hang_up({rank, news.pid});  // the user has already left
  if (mine->session.container != rank) return;
  mine->session.leader = news.pid;
  if (terminal) mine->add_terminal(std::move(terminal));
  if (!mine->outlets.empty() && mine->in->get() >= 0) return run(*mine);
  const StartFailure failure{StartFailure::Step::resources, EMFILE, "its terminal", ""};
  send_(wire::TerminalEnded{news.id, describe(failure), {false, failure.code()}});
  hang_up(mine->session);
  terminals_.erase(news.id);
}

void TerminalService::run(Terminal& terminal) {
  send_(wire::TerminalTaken{terminal.id, 0});
  for (const auto& outlet : terminal.outlets) wait(terminal, *outlet);
  write(terminal);
}

void TerminalService::wait(Terminal& terminal, Outlet& outlet) {
  if (outlet.at_end || terminal.sent - terminal.taken >= wire::kMostTerminal) return;
  if (std::exchange(outlet.waits, true)) return;
  outlet.fd.on_readable([this, &terminal, &outlet] {
    outlet.waits = false;
    (void)read_some(terminal, outlet);
    wait(terminal, outlet);
  });
}

/// False: nothing can be read now, or the user must take output first.
bool TerminalService::read_some(Terminal& terminal, Outlet& outlet) {
  const std::uint64_t room = wire::kMostTerminal - (terminal.sent - terminal.taken);
  if (outlet.at_end || room == 0) return false;
  std::array<char, kPiece> bytes;
  const ssize_t n =
      ::read(outlet.fd.get(), bytes.data(), std::min<std::size_t>(bytes.size(), room));
  if (n < 0 && errno == EINTR) return true;
  if (n < 0 && errno == EAGAIN) return false;
  // The master of a terminal reports with EIO that all its users have ended (pty(7)).
  outlet.at_end = n <= 0;
  if (outlet.at_end) return false;
  terminal.sent += static_cast<std::uint64_t>(n);
  send_(wire::TerminalOutput{terminal.id, outlet.stream,
                             std::string(bytes.data(), static_cast<std::size_t>(n))});
  return true;
}

/// Call once the program has ended: sends what is left in its streams, to which other processes may
/// still write.
void TerminalService::pump(Terminal& terminal) {
  for (const auto& outlet : terminal.outlets) {
    while (read_some(terminal, *outlet)) {
    }
  }
  end_if_read(terminal);
}

void TerminalService::end_if_read(Terminal& terminal) {
  if (terminal.sent - terminal.taken >= wire::kMostTerminal) return;  // there may be more
  const std::uint32_t id = terminal.id;
  send_(wire::TerminalEnded{id, "", *terminal.status});
  hang_up(terminal.session);
  terminals_.erase(id);
}

void TerminalService::on(const wire::TerminalInput& input) {
  Terminal* const terminal = find(input.id);
  if (terminal == nullptr) return;
  terminal->input_ends = terminal->input_ends || input.bytes.empty();
  terminal->to_write += input.bytes;
  write(*terminal);
}

void TerminalService::write(Terminal& terminal) {
  if (!terminal.runs()) return;
  const std::uint64_t before = terminal.written;
  while (terminal.in && !terminal.to_write.empty()) {
    const ssize_t n =
        ::write(terminal.in->get(), terminal.to_write.data(), terminal.to_write.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      if (std::exchange(terminal.write_waits, true)) break;
      terminal.in->on_writable([this, &terminal] {
        terminal.write_waits = false;
        write(terminal);
      });
      break;
    }
    if (n < 0) {
      terminal.in.reset();  // EPIPE, EIO: it no longer reads
      break;
    }
    terminal.written += static_cast<std::uint64_t>(n);
    terminal.to_write.erase(0, static_cast<std::size_t>(n));
  }
  if (!terminal.in) terminal.written += std::exchange(terminal.to_write, {}).size();
  if (terminal.written != before) send_(wire::TerminalTaken{terminal.id, terminal.written});
  if (terminal.input_ends && terminal.to_write.empty()) terminal.in.reset();
}

void TerminalService::on(const wire::ResizeTerminal& resize) {
  const Terminal* const terminal = find(resize.id);
  if (terminal != nullptr && terminal->runs())
    set_terminal_size(terminal->outlets.front()->fd.get(), {resize.columns, resize.rows});
}

void TerminalService::on(const wire::TerminalTaken& taken) {
  Terminal* const terminal = find(taken.id);
  if (terminal == nullptr) return;
  terminal->taken = std::clamp(taken.up_to, terminal->taken, terminal->sent);
  if (terminal->status) return pump(*terminal);
  for (const auto& outlet : terminal->outlets) wait(*terminal, *outlet);
}

void TerminalService::on(const wire::CloseTerminal& close) {
  const Terminal* const terminal = find(close.id);
  if (terminal == nullptr) return;
  const Session session = terminal->session;
  terminals_.erase(close.id);
  hang_up(session);  // without a leader, started() will
}

bool TerminalService::was_reaped(const Reaped& reaped) {
  const auto found = std::find_if(terminals_.begin(), terminals_.end(), [&](const auto& one) {
    return one.second->session == Session{std::nullopt, reaped.pid} && !one.second->status;
  });
  if (found == terminals_.end()) return false;
  end_later(*found->second, reaped.status);
  return true;
}

void TerminalService::ended(Rank rank, const wire::TerminalEnded& news) {
  Terminal* const terminal = find(news.id);
  if (terminal == nullptr || terminal->session.container != rank) return;
  if (news.problem.empty()) return end_later(*terminal, news.status);
  send_(news);
  terminals_.erase(news.id);
}

void TerminalService::container_left(Rank rank) {
  std::erase_if(terminals_, [&](const auto& one) {
    if (one.second->session.container != rank) return false;
    const std::string why = "rank " + std::to_string(rank.value) + " has ended";
    send_(wire::TerminalEnded{one.first, why, {}});
    return true;
  });
  std::erase_if(hung_up_, [&](const auto& one) { return one.first.container == rank; });
}

/// Ends it later, because the caller is still handling the ends of other processes, and ending a
/// terminal sends messages.
void TerminalService::end_later(Terminal& terminal, const ExitStatus& status) {
  terminal.status = status;
  loop_.post([this, id = terminal.id] {
    Terminal* const ended = find(id);
    if (ended != nullptr) pump(*ended);
  });
}

/// Sends SIGHUP to the session, and SIGKILL later: its processes may live on without leader and
/// terminal, if only because they ignore the signal.
void TerminalService::hang_up(const Session& session) {
  if (session.leader == 0) return;  // its start was never reported
  if (session.container) {
    if (!containers_.signal_session(*session.container, session.leader, SIGHUP)) return;
  } else {
    const std::vector<pid_t> left = members_of({session.leader});
    if (left.empty()) return;
    signal_each(left, SIGHUP);
  }
  hung_up_[session] = monotonic_now() + kHangUpGrace;
  if (hung_up_.size() == 1) kill_.after(kHangUpGrace, [this] { kill_hung_up(); });
}

void TerminalService::kill_hung_up() {
  std::set<pid_t> ours;
  auto next = MonotonicTime::max();
  std::erase_if(hung_up_, [&](const auto& one) {
    const auto& [session, at] = one;
    if (at > monotonic_now()) {
      next = std::min(next, at);
      return false;
    }
    if (session.container)
      (void)containers_.signal_session(*session.container, session.leader, SIGKILL);
    else
      ours.insert(session.leader);
    return true;
  });
  if (!ours.empty()) signal_each(members_of(ours), SIGKILL);
  if (!hung_up_.empty()) kill_.after(next - monotonic_now(), [this] { kill_hung_up(); });
}

/// Programs in a container end with it.
std::set<pid_t> TerminalService::end_all(const std::string& why) {
  std::set<pid_t> sessions;
  const auto add = [&](const Session& session) {
    if (!session.container) sessions.insert(session.leader);
  };
  for (const auto& [session, at] : std::exchange(hung_up_, {})) add(session);
  kill_.cancel();
  for (const auto& [id, terminal] : terminals_) {
    send_(wire::TerminalEnded{id, why, {}});
    add(terminal->session);
  }
  terminals_.clear();
  if (sessions.empty()) return {};
  const std::vector<pid_t> all = members_of(sessions);
  signal_each(all, SIGHUP);
  return {all.begin(), all.end()};
}

}  // namespace dlaunch
