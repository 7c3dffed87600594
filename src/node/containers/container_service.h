// The containers of an attempt's ranks on this node: listens for the first process of each
// container (container_entry.h), exchanges messages with it, and removes what a container engine
// leaves behind. RankService owns the runtime's processes and decides when a rank has ended.
// docs/internals/architecture.md, "Containers".
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/exit_status.h"
#include "node/containers/entry_protocol.h"
#include "node/progress.h"
#include "node/terminals/beside_program.h"
#include "os/acceptor.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class ContainerService {
 public:
  struct Callbacks {
    std::function<void(Rank, pid_t, UniqueFd terminal)> on_started;  // the rank's program runs
    std::function<void(Rank, StartFailure)> on_failed;
    std::function<void(Rank, const ExitStatus&)> on_ended;  // the rank's program has ended
    std::function<void(Rank)> on_left;                      // and all processes that it started
    // A program beside the rank has started, or has ended.
    std::function<void(Rank, const BesideStarted&, UniqueFd terminal)> on_beside;
    std::function<void(Rank, const wire::TerminalEnded&)> on_beside_ended;
  };
  ContainerService(EventLoop& loop, Progress& progress);
  ~ContainerService();
  void set_callbacks(Callbacks callbacks) { callbacks_ = std::move(callbacks); }

  /// Call for each part of an attempt before its ranks start. Does nothing without containers.
  [[nodiscard]] tl::expected<void, StartFailure> begin(const wire::StartRanks& part);

  /// Command line and environment of the runtime process of a rank.
  [[nodiscard]] static std::vector<std::string> command(const wire::StartContainer& container,
                                                        Rank rank);
  [[nodiscard]] static Environment environment(const wire::StartContainer& container);

  /// Stores what the rank's first process gets when it connects: the order, stdin, stdout, stderr
  /// and, with has_pmi, the PMI-1 socket. Errors: errno.
  [[nodiscard]] tl::expected<void, int> expect(Rank rank, const EntryOrder& order,
                                               std::vector<UniqueFd> descriptors);
  /// Call if the rank must no longer start.
  void refuse(Rank rank);
  /// Whether the rank's first process is connected.
  [[nodiscard]] bool is_in(Rank rank) const { return entries_.contains(rank); }

  /// These send a demand to the rank's first process. False: it is not connected.
  bool signal(Rank rank, int signal) { return send(rank, {EntryDemand::Kind::signal, signal}); }
  bool pass(Rank rank, int signal) { return send(rank, {EntryDemand::Kind::pass, signal}); }
  bool kill(Rank rank) { return send(rank, {EntryDemand::Kind::kill, 0}); }
  /// Starts a program beside the rank. `streams`: none if the program gets a terminal. Errors:
  /// errno.
  [[nodiscard]] tl::expected<void, int> start_beside(Rank rank, const wire::OpenTerminal& request,
                                                     const BesideStreams& streams);
  /// Signals every process in a session beside the rank.
  bool signal_session(Rank rank, pid_t leader, int signal) {
    return send(rank, {EntryDemand::Kind::session, signal, leader});
  }
  void kill_all();
  /// Reads messages that have arrived already, and calls the callbacks for them.
  void catch_up(Rank rank);

  /// Whether there may be containers of this attempt left for clear() to remove.
  [[nodiscard]] bool needs_clearing() const { return needs_clearing_; }
  /// Removes these containers with the engine's own command, within a limit; then calls `done`.
  void clear(std::function<void()> done);
  [[nodiscard]] bool is_clearing() const { return cleaner_ != 0; }
  /// Call for every child that was reaped. True: it was a cleanup command.
  bool was_reaped(pid_t pid);
  /// Ends the attempt and drops all its state.
  void end();
  /// Call at the end of the agent, after all its descendants were killed. Removes leftover
  /// containers. Blocks.
  void clear_now();

 private:
  struct Expected {
    UniqueFd order;
    std::vector<UniqueFd> descriptors;
  };
  /// A connection from a process in a container.
  struct Entry {
    Entry(EventLoop& loop, UniqueFd fd) : socket(loop, std::move(fd)) {}
    WatchedFd socket;
  };

  [[nodiscard]] tl::expected<void, int> open(const std::string& folder);
  void add_cleanup(const wire::StartRanks& part);
  void accept(UniqueFd socket);
  void identify(Entry& entry);
  void watch(Rank rank);
  enum class Received { news, nothing, end };
  Received receive(Rank rank);
  bool send(Rank rank, EntryDemand demand);
  void clear_next();

  EventLoop& loop_;
  Progress& progress_;
  Callbacks callbacks_;
  std::string folder_;
  UniqueFd lock_;
  std::unique_ptr<Acceptor> acceptor_;
  std::map<Rank, Expected> expected_;
  std::vector<std::unique_ptr<Entry>> unidentified_;  // have not said yet which rank they serve
  std::map<Rank, std::unique_ptr<Entry>> entries_;
  std::map<std::uint32_t, std::vector<std::string>> cleanup_;  // commands by container
  bool needs_clearing_ = false;
  std::deque<std::vector<std::string>> to_clear_;
  pid_t cleaner_ = 0;
  Timer limit_;
  std::function<void()> on_cleared_;
};

}  // namespace dlaunch
