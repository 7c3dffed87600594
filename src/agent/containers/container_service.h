// The containers of an attempt's ranks on this node: the place where the first process of each
// comes (container_folder.h, container_words.h), what goes on between the two, and cleaning up. The
// runtime's own process, and the rank's end, are RankService's. docs/architecture.md, "Containers".
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/containers/container_folder.h"
#include "agent/containers/container_words.h"
#include "agent/progress.h"
#include "model/exit_status.h"
#include "os/acceptor.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class ContainerService {
 public:
  struct Callbacks {
    std::function<void(Rank, pid_t)> on_started;  // its program runs
    std::function<void(Rank, StartFailure)> on_failed;
    std::function<void(Rank, const ExitStatus&)> on_ended;  // its program has
    std::function<void(Rank)> on_left;                      // so has all that it had started
  };
  ContainerService(EventLoop& loop, Progress& progress);
  ~ContainerService();
  void set_callbacks(Callbacks callbacks) { callbacks_ = std::move(callbacks); }

  /// For each part of an attempt, before its ranks start. Nothing happens without containers.
  [[nodiscard]] tl::expected<void, StartFailure> begin(const wire::StartRanks& part);

  /// Of the runtime's process for a rank.
  [[nodiscard]] static std::vector<std::string> command(const wire::StartContainer& container,
                                                        Rank rank);
  [[nodiscard]] static Environment environment(const wire::StartContainer& container);

  /// What the rank's container is given when its first process comes: stdin, stdout, stderr and,
  /// with has_pmi, the socket for PMI-1. Errors: errno.
  [[nodiscard]] tl::expected<void, int> expect(Rank rank, const EntryOrder& order,
                                               std::vector<UniqueFd> descriptors);
  /// It does not start any more.
  void refuse(Rank rank);
  /// Something of it is in its container.
  [[nodiscard]] bool is_in(Rank rank) const { return guests_.contains(rank); }

  /// False: nobody is there to be told.
  bool signal(Rank rank, int signal) { return tell(rank, {EntryDemand::Kind::signal, signal}); }
  bool pass(Rank rank, int signal) { return tell(rank, {EntryDemand::Kind::pass, signal}); }
  bool kill(Rank rank) { return tell(rank, {EntryDemand::Kind::kill, 0}); }
  void kill_all();
  /// What has been said and not been heard yet: callbacks are called from inside.
  void catch_up(Rank rank);

  /// Containers of this attempt may be left, and are to be removed before it is over.
  [[nodiscard]] bool needs_clearing() const { return needs_clearing_; }
  /// Removes what its engine has left, by its own command, within a limit; then calls `done`.
  void clear(std::function<void()> done);
  [[nodiscard]] bool is_clearing() const { return cleaner_ != 0; }
  /// Somebody who reaps any child has reaped this one. True: it was ours.
  bool was_reaped(pid_t pid);
  /// Nothing of the attempt is left.
  void end();
  /// At the end of everything, after all descendants were killed. Blocks.
  void clear_now();

 private:
  struct Expected {
    UniqueFd order;
    std::vector<UniqueFd> descriptors;
  };
  struct Guest {
    explicit Guest(EventLoop& loop, UniqueFd came) : socket(loop, std::move(came)) {}
    WatchedFd socket;
  };

  [[nodiscard]] tl::expected<void, int> open(const std::string& folder);
  void add_cleanup(const wire::StartRanks& part);
  void let_in(UniqueFd socket);
  void hear_greeting(Guest& guest);
  void listen_to(Rank rank);
  bool hear(Rank rank);
  bool tell(Rank rank, EntryDemand demand);
  void clear_next();
  void remember_folder(const std::string& folder);

  EventLoop& loop_;
  Progress& progress_;
  Callbacks callbacks_;
  std::string folder_;
  UniqueFd lock_;
  std::unique_ptr<Acceptor> acceptor_;
  std::map<Rank, Expected> expected_;
  std::vector<std::unique_ptr<Guest>> strangers_;
  std::map<Rank, std::unique_ptr<Guest>> guests_;
  std::map<std::uint32_t, std::vector<std::string>> cleanup_;  // by container
  bool needs_clearing_ = false;
  std::deque<std::vector<std::string>> to_clear_;
  pid_t cleaner_ = 0;
  Timer limit_;
  std::function<void()> on_cleared_;
};

}  // namespace dlaunch
