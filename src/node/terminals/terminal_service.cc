#include "node/terminals/terminal_service.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include <unistd.h>

#include "node/ranks/environment_block.h"
#include "os/clock.h"
#include "os/cpu_mask.h"
#include "os/spawn.h"
#include "os/terminal.h"

namespace dlaunch {

namespace {

constexpr std::size_t kPiece = std::size_t{16} << 10;
constexpr std::size_t kMostAtOnce = 64;
/// Between SIGHUP and SIGKILL, for a shell that writes its history.
constexpr std::chrono::seconds kHangUpGrace{2};

/// The processes of these sessions that are ours to end.
std::vector<pid_t> members(const std::set<pid_t>& sessions) {
  std::vector<pid_t> found = descendants();
  std::erase_if(found, [&](pid_t pid) { return !sessions.contains(::getsid(pid)); });
  return found;
}

void signal_all(const std::vector<pid_t>& processes, int number) {
  for (const pid_t pid : processes) {
    ::kill(pid, number);
    ::kill(pid, SIGCONT);  // a stopped process handles no other signal
  }
}

/// The ends of a program's streams: its own, and ours. With a terminal all are the same.
struct Streams {
  UniqueFd in, out, err;
  UniqueFd our_in, our_out, our_err;
};

tl::expected<Streams, int> make_streams(const wire::OpenTerminal& request) {
  Streams streams;
  if (request.is_terminal) {
    auto terminal = open_pseudo_terminal({request.columns, request.rows});
    if (!terminal) return tl::unexpected(terminal.error());
    streams.out = duplicate(terminal->slave.get());
    streams.err = duplicate(terminal->slave.get());
    streams.in = std::move(terminal->slave);
    streams.our_in = duplicate(terminal->master.get());
    streams.our_out = std::move(terminal->master);
  } else {
    auto in = make_pipe();
    auto out = make_pipe();
    auto err = make_pipe();
    if (!in || !out || !err) return tl::unexpected(EMFILE);
    streams = {std::move(in->read),  std::move(out->write), std::move(err->write),
               std::move(in->write), std::move(out->read),  std::move(err->read)};
  }
  if (!streams.in || !streams.out || !streams.err || !streams.our_in) return tl::unexpected(EMFILE);
  return streams;
}

}  // namespace

std::vector<std::string> with_pid(std::vector<std::string> argv, pid_t pid) {
  constexpr std::string_view kPlace = "{pid}";
  const std::string number = std::to_string(pid);
  for (std::string& word : argv) {
    for (auto at = word.find(kPlace); at != std::string::npos; at = word.find(kPlace, at))
      word.replace(at, kPlace.size(), number);
  }
  return argv;
}

struct TerminalService::Outlet {
  Outlet(EventLoop& loop, Stream s, UniqueFd read_end) : stream(s), fd(loop, std::move(read_end)) {}
  Stream stream;
  WatchedFd fd;
  bool waits = false;
  bool at_end = false;
};

struct TerminalService::Terminal {
  std::uint32_t id = 0;
  pid_t leader = 0;
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

TerminalService::TerminalService(EventLoop& loop, Send send)
    : loop_(loop), send_(std::move(send)), kill_(loop) {}

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
  send_(wire::TerminalTaken{request.id, 0});
  for (const auto& outlet : terminal.outlets) wait(terminal, *outlet);
}

tl::expected<std::unique_ptr<TerminalService::Terminal>, StartFailure> TerminalService::start(
    const wire::OpenTerminal& request, const RankPlace& place) {
  auto streams = make_streams(request);
  if (!streams) {
    return tl::unexpected(
        StartFailure{StartFailure::Step::resources, streams.error(), "a terminal", ""});
  }
  const EnvironmentBase base(place.variables, {}, {}, {});
  const EnvironmentBlock environment(base, request.env);
  const std::vector<std::string> words = with_pid(request.argv, place.pid);
  const Program program = find_program(words.front(), environment.search_path(), place.workdir);
  const std::vector<const char*> argv = argv_pointers(words);
  const rlimit open_files{place.open_files.soft, place.open_files.hard};
  CpuMask cpus(place.cpus);
  SpawnRequest spawning;
  spawning.program = &program;
  spawning.argv = argv.data();
  spawning.envp = environment.pointers();
  spawning.workdir = place.workdir.c_str();
  spawning.stdin_fd = streams->in.get();
  spawning.stdout_fd = streams->out.get();
  spawning.stderr_fd = streams->err.get();
  spawning.cpus = cpus.set();
  spawning.cpus_size = cpus.size();
  spawning.open_files = &open_files;
  spawning.cgroup = place.cgroup;
  spawning.new_session = true;
  spawning.own_terminal = request.is_terminal;
  const auto spawned = spawn(spawning);
  if (!spawned) return tl::unexpected(spawned.error());
  auto terminal = std::make_unique<Terminal>();
  terminal->id = request.id;
  terminal->leader = spawned->pid;
  terminal->in = std::make_unique<WatchedFd>(loop_, std::move(streams->our_in));
  const auto add = [&](Stream stream, UniqueFd fd) {
    if (fd) terminal->outlets.push_back(std::make_unique<Outlet>(loop_, stream, std::move(fd)));
  };
  add(Stream::out, std::move(streams->our_out));
  add(Stream::err, std::move(streams->our_err));
  return terminal;
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

/// False: there is nothing now, or the user has to take something before.
bool TerminalService::read_some(Terminal& terminal, Outlet& outlet) {
  const std::uint64_t room = wire::kMostTerminal - (terminal.sent - terminal.taken);
  if (outlet.at_end || room == 0) return false;
  std::array<char, kPiece> bytes;
  const ssize_t n =
      ::read(outlet.fd.get(), bytes.data(), std::min<std::size_t>(bytes.size(), room));
  if (n < 0 && errno == EINTR) return true;
  if (n < 0 && errno == EAGAIN) return false;
  // The master of a terminal reports the end of all its users by EIO (pty(7)).
  outlet.at_end = n <= 0;
  if (outlet.at_end) return false;
  terminal.sent += static_cast<std::uint64_t>(n);
  send_(wire::TerminalOutput{terminal.id, outlet.stream,
                             std::string(bytes.data(), static_cast<std::size_t>(n))});
  return true;
}

/// Once the program has ended: what it has left in its streams, though others may still write.
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
  hang_up(terminal.leader);
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
  if (terminal != nullptr)
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
  const pid_t leader = terminal->leader;
  terminals_.erase(close.id);
  hang_up(leader);
}

bool TerminalService::was_reaped(const Reaped& reaped) {
  const auto found = std::find_if(terminals_.begin(), terminals_.end(), [&](const auto& one) {
    return one.second->leader == reaped.pid && !one.second->status;
  });
  if (found == terminals_.end()) return false;
  found->second->status = reaped.status;
  // Later: the caller reaps more, and what ends sends.
  loop_.post([this, id = found->first] {
    Terminal* const terminal = find(id);
    if (terminal != nullptr) pump(*terminal);
  });
  return true;
}

/// The session goes on without its leader and its terminal, if only to ignore the signal.
void TerminalService::hang_up(pid_t leader) {
  const std::vector<pid_t> left = members({leader});
  if (left.empty()) return;
  signal_all(left, SIGHUP);
  hung_up_[leader] = monotonic_now() + kHangUpGrace;
  if (hung_up_.size() == 1) kill_.after(kHangUpGrace, [this] { kill_hung_up(); });
}

void TerminalService::kill_hung_up() {
  std::set<pid_t> due;
  auto next = MonotonicTime::max();
  for (const auto& [leader, at] : hung_up_) {
    if (at <= monotonic_now())
      due.insert(leader);
    else
      next = std::min(next, at);
  }
  for (const pid_t leader : due) hung_up_.erase(leader);
  signal_all(members(due), SIGKILL);
  if (!hung_up_.empty()) kill_.after(next - monotonic_now(), [this] { kill_hung_up(); });
}

std::set<pid_t> TerminalService::end_all(const std::string& why) {
  std::set<pid_t> sessions;
  for (const auto& [leader, at] : std::exchange(hung_up_, {})) sessions.insert(leader);
  kill_.cancel();
  for (const auto& [id, terminal] : terminals_) {
    send_(wire::TerminalEnded{id, why, {}});
    sessions.insert(terminal->leader);
  }
  terminals_.clear();
  if (sessions.empty()) return {};
  const std::vector<pid_t> all = members(sessions);
  signal_all(all, SIGHUP);
  return {all.begin(), all.end()};
}

}  // namespace dlaunch
