// The signals that reach a run, through the front, this process, and a scheduler on its nodes:
// which of them are new, which end the run (an event for the supervisor), and which go to the
// ranks. Asks Slurm why a signal arrived and how much time is left; tells the ranks when they have
// to end.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "launch/engine/run_request.h"
#include "launch/engine/run_store.h"
#include "launch/output/screen.h"
#include "launch/passed_signals.h"
#include "launch/session/nodes.h"
#include "launch/slurm/slurm_inquiry.h"
#include "launch/slurm/slurm_listener.h"
#include "model/event.h"
#include "model/launch_plan.h"
#include "model/time.h"
#include "os/event_loop.h"
#include "os/signals.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Where a signal arrived: at the process that the user started, at the one that runs the job, or
/// at a step of Slurm on a node. `command`: no signal arrived, but `dlaunch stop` has asked at the
/// run's socket.
enum class CancelOrigin : std::uint8_t { front, engine, nodes, command };

/// Which of the signals that end a run are new ones. Pure.
class CancelOrigins {
 public:
  /// Whether this signal counts, given that a second one kills at once. A service manager that
  /// signals all processes of a job reaches several origins within a moment. At a time limit or a
  /// scancel, slurmd signals the steps first and the batch script perhaps seconds later, so the
  /// first SIGTERM from another origin after the one from the nodes is the same signal.
  [[nodiscard]] bool counts(CancelOrigin origin, int number, MonotonicTime now);
  /// Whether any signal has arrived.
  [[nodiscard]] bool any() const;

 private:
  std::array<std::optional<MonotonicTime>, 4> at_;  // the last one; by CancelOrigin
};

/// Lives on the engine's one thread.
class SignalSide {
 public:
  using Push = std::function<void(Event)>;
  /// `lone_node`: this node as Slurm names it, if all ranks are in the batch script of a job and no
  /// agent is a step of it; else empty. `signals`: a signalfd(2) of this process.
  SignalSide(EventLoop& loop, const RunOptions& options, std::string lone_node, Nodes& nodes,
             RunStore& store, Screen& screen, UniqueFd signals, Push push);

  /// The ranks of the plan were told to start; `plan` must stay valid until end().
  void begin(const LaunchPlan& plan);
  /// None of the plan's ranks runs any more.
  void end() { running_ = nullptr; }
  void from_front(int number);
  /// `dlaunch stop`; a run that was already told to end is not hurried.
  void stop();
  /// `dlaunch stop --now`.
  void kill();
  void on(NodeId node, const wire::Signalled& signalled);
  /// Call after the supervisor has got the event and before its actions are performed: when ranks
  /// are signalled, they must already know how much time they have.
  void tell(const Event& event);

  /// Why Slurm sent the signal that ends the run; empty: unknown.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] bool is_asking() const { return inquiry_.is_asking(); }
  /// Makes the listening step end soon.
  void stop_listening() { listener_.stop(); }
  [[nodiscard]] bool has_stopped() const { return listener_.has_ended(); }

 private:
  void watch();
  void cancel(CancelOrigin origin, int number);
  void from_scheduler(std::uint32_t origin, int number);
  void pass(int number);
  void ask_slurm(int number, bool ends);
  void tell_deadline(MonotonicTime at);

  const std::string lone_node_;
  const Duration stop_grace_;
  Nodes& nodes_;
  RunStore& store_;
  Screen& screen_;
  Push push_;
  WatchedFd signals_;
  RepeatedSignals repeated_;
  SlurmInquiry inquiry_;
  SlurmListener listener_;
  CancelOrigins cancels_;
  PassedSignals passed_;
  std::string reason_;
  const LaunchPlan* running_ = nullptr;
};

}  // namespace dlaunch
