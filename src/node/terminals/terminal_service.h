// Programs beside ranks, each on a terminal of its own or with three pipes: dlaunch attach. They
// are none of the attempt's ranks: it does not wait for them, and none outlives it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "model/environment.h"
#include "os/containment.h"
#include "os/descriptors.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// What a program beside a rank shares with it.
struct RankPlace {
  pid_t pid = 0;  // of the rank, as the program sees it
  Environment variables;
  std::string workdir;
  std::vector<int> cpus;     // empty: not bound
  OpenFileLimit open_files;  // of ranks
  int cgroup = -1;           // see SpawnRequest
};

/// The command with each "{pid}" replaced. Pure.
[[nodiscard]] std::vector<std::string> with_pid(std::vector<std::string> argv, pid_t pid);

/// Lives on the agent's one thread.
class TerminalService {
 public:
  using Send = std::function<void(const wire::FromAgent&)>;

  TerminalService(EventLoop& loop, Send send);
  ~TerminalService();
  TerminalService(const TerminalService&) = delete;
  TerminalService& operator=(const TerminalService&) = delete;

  /// An error says why there is nothing to be beside.
  void open(const wire::OpenTerminal& request, const tl::expected<RankPlace, std::string>& place);
  void on(const wire::TerminalInput& input);
  void on(const wire::ResizeTerminal& resize);
  void on(const wire::TerminalTaken& taken);
  /// SIGHUP to all processes of the session, then SIGKILL.
  void on(const wire::CloseTerminal& close);
  /// To be told about every child that was reaped. True: it was one of these programs.
  bool was_reaped(const Reaped& reaped);
  /// Tells the launcher that each of them ends, and why; SIGHUP to their sessions. Returns all
  /// their processes: the caller kills them.
  std::set<pid_t> end_all(const std::string& why);

 private:
  struct Terminal;
  struct Outlet;

  [[nodiscard]] tl::expected<std::unique_ptr<Terminal>, StartFailure> start(
      const wire::OpenTerminal& request, const RankPlace& place);
  void wait(Terminal& terminal, Outlet& outlet);
  void pump(Terminal& terminal);
  [[nodiscard]] bool read_some(Terminal& terminal, Outlet& outlet);
  void end_if_read(Terminal& terminal);
  void write(Terminal& terminal);
  void hang_up(pid_t leader);
  void kill_hung_up();
  [[nodiscard]] Terminal* find(std::uint32_t id);

  EventLoop& loop_;
  Send send_;
  std::map<std::uint32_t, std::unique_ptr<Terminal>> terminals_;
  std::map<pid_t, MonotonicTime> hung_up_;  // leaders of sessions, and when to kill what is left
  Timer kill_;
};

}  // namespace dlaunch
