// The launcher's part in the ranks' MPI: messages between PMIx servers and between PMI-1 ranks, and
// mpirun if it starts the ranks. mpirun is started when all nodes await its ranks. Its output goes
// to mpirun.log in the attempt's folder, and to the console as long as nothing has failed: our own
// report describes a failure, and quotes mpirun if that is the cause.
#pragma once

#include <string>
#include <vector>

#include "launch/engine/run_request.h"
#include "launch/engine/run_store.h"
#include "launch/mpi/mpirun_watch.h"
#include "launch/mpi/pmix_relay.h"
#include "launch/output/screen.h"
#include "launch/session/nodes.h"
#include "model/event.h"
#include "model/launch_plan.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class MpiSide {
 public:
  MpiSide(const RunOptions& options, Nodes& nodes, RunStore& store, Screen& screen)
      : options_(options), nodes_(nodes), store_(store), screen_(screen) {}

  /// Begins an attempt.
  void begin(const LaunchPlan& plan);
  void on(NodeId node, wire::PmixFence fence) { deliver(relay_.on(node, std::move(fence))); }
  void on(NodeId node, const wire::PmixWanted& wanted) { deliver(relay_.on(node, wanted)); }
  void on(NodeId node, wire::PmixData data) { deliver(relay_.on(node, std::move(data))); }
  void on(NodeId node, const wire::RanksAwaited& awaited);
  void on(NodeId node, const wire::MpirunOutput& output);
  /// Adds mpirun's last output to the event of its end.
  void complete(event::StarterEnded& end);
  void tell(const Event& event);
  /// Ranks are being stopped: mpirun's output about that is not shown.
  void hush() { is_quiet_ = true; }

 private:
  void deliver(const std::vector<PmixRelay::Letter>& letters);
  void show(const std::vector<std::string>& lines);
  void log(const std::string& bytes);

  const RunOptions& options_;
  Nodes& nodes_;
  RunStore& store_;
  Screen& screen_;
  Attempt attempt_;
  NodeId first_;  // where mpirun runs
  PmixRelay relay_;
  MpirunWatch mpirun_;
  bool is_quiet_ = false;
  UniqueFd log_;  // open once mpirun has printed something
};

}  // namespace dlaunch
