// The wire-up of the MPI ranks of one node: PMIx (Open MPI) and PMI-1 (MPICH, Intel MPI), offered
// side by side, because a program shows only at run time which protocol it speaks. Also judges
// whether each rank ended as MPI requires.
#pragma once

#include <functional>

#include "model/environment.h"
#include "model/exit_status.h"
#include "node/mpi/pmi1_service.h"
#include "node/mpi/pmix_service.h"
#include "os/channel.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class MpiService {
 public:
  MpiService(EventLoop& loop, AgentChannel& channel, SessionId id);

  /// Answers with PmixReady when the PMIx server accepts connections, or has failed to do so in
  /// time.
  void prepare(const wire::PreparePmix& job);
  void on(wire::PmixFence& done);
  void on(const wire::PmixWanted& wanted) { pmix_.on(wanted); }
  void on(wire::PmixData& data) { pmix_.on(data); }

  /// A rank has called MPI_Abort and must end within `grace`. Called once per rank.
  using OnAbort = std::function<void(Rank, std::chrono::milliseconds grace)>;
  void on_abort(OnAbort callback) { on_abort_ = std::move(callback); }

  /// Descriptors that each rank costs the agent.
  [[nodiscard]] std::size_t descriptors_per_rank() const { return pmi1_.offered() ? 1 : 0; }
  /// Call before a rank starts: adds to `own` the variables that lead its MPI library to us, and
  /// those that name a folder for shared memory unless `shared`, the variables of all ranks, has
  /// them. The returned descriptor must become the rank's kPmiDescriptor; invalid: none is needed.
  [[nodiscard]] tl::expected<UniqueFd, StartFailure> connect(Rank rank, const Environment& shared,
                                                             Environment& own);
  /// Call for a rank that ended by itself: adds to `status` what the exit status does not show.
  void judge(Rank rank, ExitStatus& status);

  /// Call before everything is killed: what happens from then on is not a failure of the ranks.
  void expect_end();
  /// The PMIx server's process, which must outlive the ranks; nullopt if there is none.
  [[nodiscard]] std::optional<pid_t> process() const { return pmix_.process(); }
  /// Call after all ranks have ended: lets the server clean up, within a limit, then calls `done`,
  /// perhaps from inside this call.
  void finish(std::function<void()> done);
  /// At the end of the agent: call kill() before all descendants are killed, and remove_folders()
  /// after that.
  void kill();
  void remove_folders() { pmix_.remove_folders(); }

 private:
  /// The arguments are ranks that are connecting now; connected ranks are added to them.
  void fail_if_mixed(std::vector<Rank> pmix, std::vector<Rank> pmi1);

  PmixService pmix_;
  Pmi1Service pmi1_;
  const SessionId id_;
  OnAbort on_abort_;
  bool judges_ = false;  // ranks of this attempt are MPI programs and are not being killed
};

}  // namespace dlaunch
