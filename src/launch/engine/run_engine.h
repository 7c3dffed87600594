// The real Engine: the nodes, the parts that are informed of events (output, front, signals, MPI,
// the run folder), and the preparation of each attempt, on one event loop. It turns messages into
// events and actions into messages; the supervisor decides what they mean. Two parts add what the
// supervisor cannot know. Before the supervisor gets the event of mpirun's end, MpiSide adds
// mpirun's last words to it. After the end, report/culprit corrects the first failure by what the
// ranks printed.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "launch/collect/collect_side.h"
#include "launch/console/console_writer.h"
#include "launch/engine/engine.h"
#include "launch/engine/front_side.h"
#include "launch/engine/prometheus_file.h"
#include "launch/engine/run_request.h"
#include "launch/engine/run_store.h"
#include "launch/engine/run_summary.h"
#include "launch/engine/signal_side.h"
#include "launch/front/hand_over.h"
#include "launch/mpi/mpi_side.h"
#include "launch/output/output_router.h"
#include "launch/output/output_side.h"
#include "launch/output/screen.h"
#include "launch/questions/question_side.h"
#include "launch/questions/stack_rounds.h"
#include "launch/session/cluster_sessions.h"
#include "launch/session/preparation.h"
#include "launch/session/return_check.h"
#include "launch/terminals/terminal_side.h"
#include "launch/watch/checkpoint_side.h"
#include "launch/watch/checkpoint_stop.h"
#include "launch/watch/samples_side.h"
#include "launch/watch/slow_side.h"
#include "launch/watch/stall_side.h"
#include "launch/watch/watch_side.h"
#include "model/launch_plan.h"
#include "os/event_loop.h"

namespace dlaunch {

class RunEngine : public Engine {
 public:
  RunEngine(const RunOptions& options, LocalStart local, UniqueFd front_link, HandOver hand_over);

  [[nodiscard]] Status open_run_folder();

  [[nodiscard]] Result<Event> wait(std::optional<MonotonicTime> deadline) override;
  void tell(const Event& event) override;
  [[nodiscard]] Status perform(const Action& action) override;
  [[nodiscard]] MonotonicTime now() const override;

  /// After the last event: writes out what the console still accepts, releases the agents, writes
  /// summary.json and prints the summary. Every wait has a limit. Returns the run's exit code,
  /// which differs from the report's if the ranks' output shows that another rank is to blame.
  [[nodiscard]] int finish(RunReport report);
  /// The same for an error that ended the launcher itself.
  void finish(const Error& error);

 private:
  // Messages from agents, each passed to the parts it concerns. Those about ranks and nodes become
  // events.
  void on(NodeId node, wire::Facts& facts);
  void on(NodeId node, wire::RanksStarted& started);
  void on(NodeId node, wire::RankNotStarted& failed);
  void on(NodeId node, wire::RankExited& exited);
  void on(NodeId node, wire::PortTaken& taken);
  void on(NodeId node, wire::AttemptEnded& ended);
  void on(NodeId node, wire::MpirunEnded& ended);
  void on(NodeId node, wire::OutputData& data);
  void on(NodeId node, wire::OutputEnd& end) { output_.on(node, end); }
  void on(NodeId node, wire::FetchedOutput& fetched) { output_.on(node, fetched); }
  void on(NodeId, wire::StdinTaken& taken) { front_.on(taken); }
  void on(NodeId node, wire::OneOf<wire::Answers> auto& answer) { preparation_.on(node, answer); }
  void on(NodeId node, wire::OneOf<wire::CollectAnswer> auto& answer) { collect_.on(node, answer); }
  void on(NodeId, wire::StagedSeen&) {}
  void on(NodeId node, wire::PrerequisitesMissing& answer) {
    if (!return_check_.on(node, answer)) preparation_.on(node, answer);
  }
  void on(NodeId node, wire::PmixFence& fence) { mpi_.on(node, std::move(fence)); }
  void on(NodeId node, wire::PmixWanted& wanted) { mpi_.on(node, wanted); }
  void on(NodeId node, wire::PmixData& data) { mpi_.on(node, std::move(data)); }
  void on(NodeId node, wire::RanksAwaited& awaited) { mpi_.on(node, awaited); }
  void on(NodeId node, wire::MpirunOutput& output) { mpi_.on(node, output); }
  void on(NodeId node, wire::StacksTaken& taken) { rounds_.on(node, taken); }
  void on(NodeId node, wire::PySpyTaken& taken) { rounds_.on(node, taken); }
  void on(NodeId node, wire::Pulse& pulse) {
    watch_.on(node, pulse, now());
    stalls_.on(node, pulse);
    slow_.on(node, pulse);
    samples_.on(node, pulse, now());
  }
  void on(NodeId node, wire::TerminalOutput& output) { terminals_.on(node, output); }
  void on(NodeId node, wire::TerminalTaken& taken) { terminals_.on(node, taken); }
  void on(NodeId node, wire::TerminalEnded& ended) { terminals_.on(node, ended); }
  void on(NodeId node, wire::PreemptionNotice& notice);
  void on(NodeId node, wire::CheckpointsSeen& seen) {
    checkpoints_.on(node, seen);
    checkpoint_stop_.on(node, seen);
  }
  void on(NodeId node, wire::Signalled& signalled) { signals_.on(node, signalled); }
  void on(NodeId, wire::Notice& notice) { screen_.note(notice.text); }
  void on(NodeId, wire::OneOf<wire::SessionMessages> auto&) {}
  void on_news(NodeId, event::NodeLost& lost) { push(std::move(lost)); }
  void on_news(NodeId node, node_news::Resumed& resumed);
  void on_news(NodeId node, node_news::Silent& silent);
  void on_news(NodeId, node_news::Remark& remark) { screen_.note(remark.text); }
  void push_of_rank(NodeId node, Event event);
  void push(Event event);

  void begin(const action::ConnectNode& connect);
  void begin(const action::GatherFacts& gather);
  void begin(const action::MakePlan& make);
  void begin(const action::StartRanks& start);
  void begin(const action::StopRanks& stop);
  void begin(const action::KillRanks& kill);
  void begin(const action::ReleaseNode& release);
  void begin(const action::RemoveNode& remove);
  void begin(const action::Restart& restart);
  void begin(const action::Tell& tell) { screen_.state(tell.line); }
  void begin(const action::Finish&) {}

  void check_spares();
  void pass(NodeId node, Attempt attempt);
  void refuse(NodeId node, std::string what, bool is_new);
  void give_up(NodeId node, std::string what);
  [[nodiscard]] bool leave_out_unusable(const Prepared& outcome);
  [[nodiscard]] PlanContext plan_context(Attempt attempt) const;
  void prepared(Prepared outcome);
  void begin_attempt(LaunchPlan plan);
  void give_back();
  void set_stopping(bool stopping);
  /// Reports that code was synced, or data staged.
  template <class Report>
  void tell_copy(const Report& report, const std::string& text);
  void explain(const Event& event) const;
  void end_preparation();
  void collect(RunReport& report);
  void part_from_agents();
  [[nodiscard]] const LaunchPlan* plan() const { return plan_ ? &*plan_ : nullptr; }
  [[nodiscard]] StatusReply status() const;
  [[nodiscard]] std::string prometheus(std::optional<int> exit_code, std::string end) const;
  [[nodiscard]] Result<StopReply> stop(const StopQuestion& question);
  [[nodiscard]] SummaryParts summary_parts();

  const RunOptions& options_;
  MonotonicTime began_;
  EventLoop loop_;
  ConsoleWriter console_;
  ClusterSessions nodes_;
  OutputRouter router_;
  RunStore store_;
  Screen screen_;
  OutputSide output_;
  FrontSide front_;
  SignalSide signals_;
  MpiSide mpi_;
  WatchSide watch_;
  StackRounds rounds_;
  QuestionSide questions_;
  StallSide stalls_;
  SlowSide slow_;
  SamplesSide samples_;
  CheckpointSide checkpoints_;
  CheckpointStop checkpoint_stop_;
  TerminalSide terminals_;
  Preparation preparation_;
  ReturnCheck return_check_;
  CollectSide collect_;
  Timer give_back_;
  PrometheusFile prometheus_;
  std::deque<Event> queue_;            // for the supervisor
  bool finishing_ = false;             // the supervisor is done and gets no more events
  std::optional<LaunchPlan> planned_;  // until the supervisor starts its ranks
  std::optional<LaunchPlan> plan_;
  bool started_ = false;             // the ranks of plan_ were told to start
  bool stopping_ = false;            // all of them were told to end
  std::size_t not_started_ = 0;      // ranks that no agent has reported as started
  bool has_output_ = false;          // they have printed
  std::vector<SpareStatus> spares_;  // at the end
};

}  // namespace dlaunch
