// Serves the MPI ranks of one node over PMIx: runs a dlaunch-pmix for each attempt, relays between
// it and the servers of other nodes, and records what each rank has done.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/environment.h"
#include "node/mpi/pmix_folders.h"
#include "node/mpi/pmix_helper.h"
#include "node/mpi/wire_up.h"
#include "os/channel.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class PmixService {
 public:
  struct Callbacks {
    std::function<void(Rank)> on_connected;
    std::function<void(Rank)> on_abort;  // the rank has called MPI_Abort; once per rank
  };
  PmixService(EventLoop& loop, AgentChannel& channel, SessionId id, Callbacks callbacks);

  /// Answers with PmixReady when the server accepts connections, or has failed to do so in time.
  void prepare(const wire::PreparePmix& job);
  void on(wire::PmixFence& done);
  void on(const wire::PmixWanted& wanted);
  void on(wire::PmixData& data);

  /// Adds to `own` the variables that lead the rank's MPI library to the server, and those that
  /// name a folder for shared memory unless `shared`, the variables of all ranks, has them.
  void add_variables(Rank rank, const Environment& shared, Environment& own) const;
  /// What the rank has done over PMIx so far.
  [[nodiscard]] WireUp seen(Rank rank);
  /// Ranks that speak PMIx.
  [[nodiscard]] std::vector<Rank> connected() const;

  /// Call before everything is killed: the end of server and ranks is then not a failure.
  void expect_end() { served_ = lost_ = false; }
  /// The server's process, which must outlive the ranks; nullopt if there is none.
  [[nodiscard]] std::optional<pid_t> process() const;
  /// Call after all ranks have ended: lets the server clean up, within a limit, then calls `done`,
  /// perhaps from inside this call.
  void finish(std::function<void()> done);
  /// At the end of the agent: call kill() before all descendants are killed, and remove_folders()
  /// after that.
  void kill();
  void remove_folders();

 private:
  struct RankState {
    std::vector<std::string> env;  // "NAME=VALUE"
    bool connected = false;
    bool finalized = false;
    std::optional<std::int32_t> aborted;
  };

  void start(const wire::PreparePmix& job);
  void ready(std::string refused);
  void ended(const std::string& said);
  void over();

  void on(pmix::Ready& answer);
  void on(pmix::Fence& fence);
  void on(const pmix::DataWanted& wanted);
  void on(pmix::Data& data);
  void on(const pmix::Aborted& aborted);
  void on(const pmix::Connected& rank);
  void on(const pmix::Finalized& rank) { ranks_[rank.rank].finalized = true; }
  void on(const pmix::Refused& refused);
  // Messages that only an agent sends.
  void on(const pmix::Setup&) {}
  void on(const pmix::FenceDone&) {}
  void on(const pmix::AbortSeen&) {}
  void on(const pmix::Finish&) {}

  EventLoop& loop_;
  AgentChannel& channel_;
  const SessionId id_;
  Timer limit_;
  const Callbacks callbacks_;
  std::function<void()> on_finished_;
  std::unique_ptr<PmixHelper> helper_;  // may have ended
  bool running_ = false;                // helper_ has not ended
  bool starting_ = false;               // PmixReady is owed
  bool served_ = false;                 // ranks of this attempt have had a server throughout
  bool lost_ = false;                   // they had one, but it ended before them
  Attempt attempt_;
  PmixFolders folders_;
  std::map<std::uint32_t, RankState> ranks_;               // by rank
  std::map<std::vector<RankSpan>, std::uint64_t> fences_;  // how many began
  std::map<std::pair<std::vector<RankSpan>, std::uint64_t>, std::uint32_t> waiting_;  // -> id
};

}  // namespace dlaunch
