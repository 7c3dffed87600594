// The output of the ranks on the launcher: sends it to the console with credit, and brings that of
// other nodes to the run folder; knows what output to wait for between two attempts and at the end.
// Decides nothing about the run: it gets events after the supervisor has got them.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "launch/console/console_writer.h"
#include "launch/engine/run_request.h"
#include "launch/engine/run_store.h"
#include "launch/output/output_collector.h"
#include "launch/output/output_router.h"
#include "launch/output/screen.h"
#include "launch/session/nodes.h"
#include "launch/session/start_message.h"
#include "model/action.h"
#include "os/clock.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class OutputSide {
 public:
  OutputSide(EventLoop& loop, const RunOptions& options, Nodes& nodes, RunStore& store,
             ConsoleWriter& console, OutputRouter& router, Screen& screen);

  /// Begins an attempt. `plan` must stay valid until the next one.
  void begin(const LaunchPlan& plan);
  /// Adds the output settings to what agents are told when they start ranks. The ranks count as
  /// started.
  void start(StartSettings& settings);
  void on(NodeId node, const wire::OutputData& data);
  void on(NodeId node, const wire::OutputEnd& end);
  void on(NodeId node, const wire::FetchedOutput& fetched);
  void tell(const Event& event);
  void tell(const action::Restart&) { started_ = false; }

  /// Calls `ask` once all output of the attempt has arrived, or has been given up: the console
  /// shows one attempt at a time, and agents forget the files of an attempt when the next one
  /// begins.
  void when_out(std::function<void()> ask);
  /// All output of the attempt has arrived.
  [[nodiscard]] bool is_out() const { return router_.complete() && collector_.complete(); }

  /// Runs the loop until the condition holds, at most for `limit` since the output last made
  /// progress.
  template <class Condition>
  void run_until(Condition condition, Duration limit);
  /// The run is over: writes out what is left, and says what is missing. Nothing more arrives from
  /// `lost`. Every wait has a limit. A cancel meanwhile leaves the rest on the nodes; after a
  /// second one the waits end soon. `within`: the limit for this call and all later waits together.
  void finish(const std::vector<Rank>& lost, std::optional<Duration> within = std::nullopt);
  /// Replaces that limit, if there is one: the remaining output may take this long from now.
  void allow(Duration limit);
  /// Waits until the console has taken everything that was written, or takes no more.
  void drain();
  /// stdout and stderr are other files now.
  void console_moved();
  /// Whether the last `lines` lines on the console of stderr contain some of this stream of one of
  /// the ranks.
  [[nodiscard]] bool is_on_screen(const std::vector<Rank>& ranks, Stream stream,
                                  std::size_t lines) const;

 private:
  void finish_within(Duration limit);
  [[nodiscard]] bool runs_on(Rank rank, NodeId node) const;
  void begin_rank(Rank rank);
  void lose_node(const event::NodeLost& lost);
  void wait_for_console(MonotonicTime give_up_at);
  void wait_for_nodes(std::uint64_t progress, MonotonicTime give_up_at);
  [[nodiscard]] Duration node_stall() const;
  [[nodiscard]] bool is_overdue() const;
  void bring_out();
  void collect();
  void end_collection();
  void give_up_stalled_console();
  void tell_lost_output();

  EventLoop& loop_;
  const RunOptions& options_;
  RunStore& store_;
  ConsoleWriter& console_;
  OutputRouter& router_;
  Screen& screen_;
  OutputCollector collector_;
  Timer catch_up_;
  const LaunchPlan* plan_ = nullptr;
  bool started_ = false;                          // the ranks of plan_ were told to start
  std::vector<bool> begun_;                       // index = Rank of plan_: its output is expected
  std::vector<std::function<void()>> questions_;  // asked when the output is out
  std::array<bool, 2> given_up_{};                // stdout, stderr: not waited for any more
  std::vector<wire::OutputEnd> lost_output_;
  bool collection_ended_ = false;  // of plan_
  bool finishing_ = false;
  std::uint32_t cancels_ = 0;  // while finishing
  bool front_gone_ = false;
  std::optional<MonotonicTime> due_;  // the limit of all waits at the end
};

template <class Condition>
void OutputSide::run_until(Condition condition, Duration limit) {
  constexpr std::chrono::milliseconds kStep{200};
  const auto made = [this] { return router_.progress() + collector_.progress(); };
  std::uint64_t progress = made();
  MonotonicTime end = monotonic_now() + limit;
  while (!condition() && monotonic_now() < end && !is_overdue()) {
    (void)store_.write_due();
    loop_.run_one(std::min<MonotonicTime>(end, monotonic_now() + kStep));
    if (made() == progress) continue;
    progress = made();
    end = monotonic_now() + limit;
  }
}

}  // namespace dlaunch
