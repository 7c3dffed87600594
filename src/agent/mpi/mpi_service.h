// What the MPI ranks of one node start by, PMIx (Open MPI) and PMI-1 (MPICH, Intel MPI), offered
// side by side: which one a program speaks is known when it does. And whether each rank has kept to
// MPI.
#pragma once

#include <functional>

#include "agent/mpi/pmi1_service.h"
#include "agent/mpi/pmix_service.h"
#include "model/environment.h"
#include "model/exit_status.h"
#include "os/channel.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class MpiService {
 public:
  MpiService(EventLoop& loop, Channel& channel, SessionId id);

  /// Answers with PmixReady when the PMIx server takes connections, or does not come to that in
  /// time.
  void prepare(const wire::PreparePmix& job);
  void on(wire::PmixFence& done);
  void on(const wire::PmixWanted& wanted) { pmix_.on(wanted); }
  void on(wire::PmixData& data) { pmix_.on(data); }

  /// A rank has called MPI_Abort: it is to end within `grace`. Called once for each.
  using OnAbort = std::function<void(Rank, std::chrono::milliseconds grace)>;
  void on_abort(OnAbort callback) { on_abort_ = std::move(callback); }

  /// Descriptors of ours that each rank needs.
  [[nodiscard]] std::size_t descriptors_per_rank() const { return pmi1_.offered() ? 1 : 0; }
  /// Before a rank is started: adds what its MPI library needs to find us to `own`, over `shared`,
  /// which it has in any case. The descriptor is to become its kPmiDescriptor; invalid: none.
  [[nodiscard]] tl::expected<UniqueFd, StartFailure> connect(Rank rank, const Environment& shared,
                                                             Environment& own);
  /// Of a rank that has ended by itself: what its exit status does not tell.
  void judge(Rank rank, ExitStatus& status);

  /// Everything is being killed: whatever happens now says nothing of the ranks.
  void expect_end();
  /// The PMIx server's process: it is to outlive the ranks. nullopt: there is none.
  [[nodiscard]] std::optional<pid_t> process() const { return pmix_.process(); }
  /// All ranks have ended: lets the server clean up, within a limit, then calls `done`, perhaps at
  /// once.
  void finish(std::function<void()> done);
  /// At the end of everything, before all descendants are killed and after.
  void kill();
  void remove_folders() { pmix_.remove_folders(); }

 private:
  /// The ranks that are connecting now, besides those that are.
  void fail_if_mixed(std::vector<Rank> pmix, std::vector<Rank> pmi1);

  PmixService pmix_;
  Pmi1Service pmi1_;
  const SessionId id_;
  OnAbort on_abort_;
  bool judges_ = false;  // ranks of this attempt are MPI programs, and nobody kills them
};

}  // namespace dlaunch
