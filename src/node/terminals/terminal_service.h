// Programs beside ranks, each on a terminal of its own or with three pipes: dlaunch attach. They
// are not ranks of the attempt: it does not wait for them, and none outlives it.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <sys/types.h>

#include "node/containers/container_service.h"
#include "node/terminals/beside_program.h"
#include "os/containment.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class TerminalService {
 public:
  using Send = std::function<void(const wire::FromAgent&)>;

  TerminalService(EventLoop& loop, Send send, ContainerService& containers);
  ~TerminalService();
  TerminalService(const TerminalService&) = delete;
  TerminalService& operator=(const TerminalService&) = delete;

  /// Starts the requested program. `place`: where; an error says why there is no rank to start it
  /// beside.
  void open(const wire::OpenTerminal& request, const tl::expected<RankPlace, std::string>& place);
  void on(const wire::TerminalInput& input);
  void on(const wire::ResizeTerminal& resize);
  void on(const wire::TerminalTaken& taken);
  /// Sends SIGHUP to all processes of the session, and later SIGKILL.
  void on(const wire::CloseTerminal& close);
  /// Call for every child that was reaped. True: it was one of these programs.
  bool was_reaped(const Reaped& reaped);
  /// Call for news from a rank's container, which concern only terminals of that rank: a program
  /// beside the rank runs; it has ended; all have ended.
  void started(Rank rank, const BesideStarted& news, UniqueFd terminal);
  void ended(Rank rank, const wire::TerminalEnded& news);
  void container_left(Rank rank);
  /// Tells the launcher that all the programs end, and why. Sends SIGHUP to their sessions. Returns
  /// all their processes, which the caller kills.
  std::set<pid_t> end_all(const std::string& why);

 private:
  struct Terminal;
  struct Outlet;
  struct Session {
    std::optional<Rank> container;
    pid_t leader = 0;  // its pid in the container, if there is one
    auto operator<=>(const Session&) const = default;
  };

  [[nodiscard]] tl::expected<std::unique_ptr<Terminal>, StartFailure> start(
      const wire::OpenTerminal& request, const RankPlace& place);
  void run(Terminal& terminal);
  void wait(Terminal& terminal, Outlet& outlet);
  void pump(Terminal& terminal);
  [[nodiscard]] bool read_some(Terminal& terminal, Outlet& outlet);
  void end_if_read(Terminal& terminal);
  void write(Terminal& terminal);
  void end_later(Terminal& terminal, const ExitStatus& status);
  void hang_up(const Session& session);
  void kill_hung_up();
  [[nodiscard]] Terminal* find(std::uint32_t id);

  EventLoop& loop_;
  Send send_;
  ContainerService& containers_;
  std::map<std::uint32_t, std::unique_ptr<Terminal>> terminals_;
  std::map<Session, MonotonicTime> hung_up_;  // sessions, and when to kill what is left of each
  Timer kill_;
};

}  // namespace dlaunch
