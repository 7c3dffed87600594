// The real Engine: sessions, console, log files and the link to the front, on one Asio thread.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/connect/connect_progress.h"
#include "launch/connect/prompt_server.h"
#include "launch/engine/attempt_planner.h"
#include "launch/engine/cancel_origins.h"
#include "launch/engine/engine.h"
#include "launch/engine/stdin_relay.h"
#include "launch/front/hand_over.h"
#include "launch/mpi/mpirun_watch.h"
#include "launch/mpi/pmix_relay.h"
#include "launch/output/output_collector.h"
#include "launch/output/output_router.h"
#include "launch/passed_signals.h"
#include "launch/session/cluster_sessions.h"
#include "launch/slurm/command_output.h"
#include "launch/slurm/slurm_inquiry.h"
#include "launch/slurm/slurm_listener.h"
#include "log/console_writer.h"
#include "log/event_log.h"
#include "model/launch_plan.h"
#include "os/event_loop.h"
#include "report/job_record.h"
#include "report/run_directory.h"
#include "report/run_presence.h"
#include "report/summary.h"
#include "text/output_times.h"
#include "text/wrap.h"

namespace dlaunch {

struct RunOptions {
  JobSpec spec;
  JobRecord record;                    // for the run folder
  std::string job_file;                // as typed; empty: the job came from the command line
  std::string current_folder;          // absolute
  Environment environment;             // the caller's
  std::vector<std::string> preflight;  // what it has left out or replaced, a sentence each
  std::optional<SlurmTime> slurm_end;  // of the Slurm job's time; nullopt: not known
  bool quiet = false;
  int verbosity = 0;  // 1: -v, 2: -vv
  bool detach = false;
  bool may_ask = false;            // the front has a terminal on which ssh's questions can be asked
  bool plain = false;              // no colour, whatever the console is
  bool stdin_is_terminal = false;  // that of the front
  bool folder_goes = false;        // the run folder is removed afterwards: no summary names it
  AttemptPlanner::Prepare prepare{};  // called in the engine's process; empty: none
  int summary_copy = -1;              // a descriptor that gets what summary.json gets; -1: none
};

class RunEngine : public Engine {
 public:
  RunEngine(const RunOptions& options, LocalStart local, UniqueFd front_link, HandOver hand_over);

  [[nodiscard]] Status open_run_folder();

  [[nodiscard]] Result<Event> wait(std::optional<MonotonicTime> deadline) override;
  [[nodiscard]] Status perform(const Action& action) override;
  [[nodiscard]] MonotonicTime now() const override;

  /// After the last event: brings out what the console still takes, lets the agents go, writes
  /// summary.json and says the summary. Every wait has a limit. Returns the run's exit code, which
  /// is another one than the report's where the ranks' words show that another rank is to blame.
  [[nodiscard]] int finish(RunReport report);
  /// The same for an error that ended the launcher itself.
  void finish(const Error& error);

 private:
  std::optional<MonotonicTime> write_due_events();
  void begin(const action::ConnectNode& connect);
  void begin(const action::GatherFacts& gather);
  void begin(const action::MakePlan& make);
  void begin(const action::StartRanks& start);
  void begin(const action::StopRanks& stop) {
    mpirun_is_quiet_ = true;
    if (presence_ && stop.ranks.empty()) presence_->set_stopping(true);
    sessions_.send(stop.node, wire::StopRanks{stop.attempt, stop.signal, stop.ranks});
  }
  void begin(const action::KillRanks& kill) {
    if (presence_ && kill.ranks.empty()) presence_->set_stopping(true);
    sessions_.send(kill.node, wire::KillRanks{kill.attempt, kill.ranks});
  }
  void begin(const action::ReleaseNode& release);
  void begin(const action::Restart& restart);
  void begin(const action::Tell& tell) { say(statement(tell.line)); }
  void begin(const action::Finish&) {}

  void ask_when_output_is_out(std::function<void()> ask);
  void gather_when_output_is_out(MonotonicTime give_up_at);
  void gather_when_collected(std::uint64_t progress, MonotonicTime give_up_at);
  void drop_questions();
  void push(Event event);
  void explain(const Event& event) const;
  [[nodiscard]] std::string since_begin() const;
  void node_lost(NodeIndex node);
  void accept_plan(LaunchPlan plan);
  void tell_sync(const SyncReport& report);
  void pass_on(NodeIndex from, wire::Message message);
  void begin_mpirun(const LaunchPlan& plan);
  [[nodiscard]] bool hear_mpirun(NodeIndex from, const wire::Message& message);
  void mpirun_ended(event::MpirunEnded& end);
  void show_mpirun(const std::vector<std::string>& lines);
  void log_mpirun(const std::string& bytes);
  void write_plan_files();
  void write_job_record();
  void note_time(const wire::OutputView& data);
  void write_times();
  void ask_git();
  /// Lines of dlaunch's own, without control characters.
  void say(std::string_view text);
  /// wrapped_statement() as wide as the screen.
  [[nodiscard]] std::string statement(std::string_view text) const;
  [[nodiscard]] bool runs_on(Rank rank, NodeIndex node) const;
  [[nodiscard]] bool forwards_stdin(const LaunchPlan& plan) const;
  void heard(NodeIndex node, Event event);
  void show(NodeIndex node, const wire::OutputView& data);
  void collect_after(const Event& event);
  void collect_output();
  [[nodiscard]] Duration node_stall() const;
  void end_collection();
  void tell_if_stdout_broke();
  void note(const std::string& text);
  void connection_resumed(NodeIndex node, Duration outage, const std::string& cause);
  void node_silent(NodeIndex node, Duration silence);
  void output_ended(NodeIndex node, const wire::OutputEnd& end);
  void tell_lost_output();
  void bring_out_output();
  /// What has taken nothing for 5 s is not waited for any more; says how much was skipped.
  void give_up_stalled_console();
  [[nodiscard]] SlurmPart slurm_part() const;
  void write_summary_file(const std::string& json);
  [[nodiscard]] std::string write_summary(RunReport& report);
  [[nodiscard]] Evidence read_evidence(RunReport& report) const;
  [[nodiscard]] bool is_on_screen(const RunReport& report, const Evidence& evidence) const;
  [[nodiscard]] std::vector<std::string> notes_on(const SummaryInput& input) const;
  void tell_github(const SummaryInput& input, std::string& text) const;
  void drain_console();
  void kill_all_ranks();
  void hurry(const Event& event);
  void finish_by(Duration limit);
  [[nodiscard]] bool is_overdue() const;
  void part_from_agents();

  void open_prompts();
  void close_prompts();
  void ask_user(const Prompt& prompt);
  void user_answered(std::optional<std::string> answer);
  void announce();
  void hand_over();
  void end_echo_line(int signal);
  void watch_front();
  void read_front();
  void watch_signals();
  void cancel(CancelOrigin origin, int number);
  void scheduler_signalled(std::uint32_t origin, int number);
  void pass_signal(int number);
  void tell_deadline(MonotonicTime at);
  void ask_slurm(int number, bool ends);
  template <class Condition>
  void run_until(Condition condition, Duration limit);

  const RunOptions& options_;
  MonotonicTime began_;
  /// This node, as Slurm names it, where all ranks are in the batch script of a job and no agent is
  /// a step of it; else empty.
  std::string without_steps_;
  EventLoop loop_;
  ConsoleWriter console_;
  ClusterSessions sessions_;
  OutputCollector collector_;
  AttemptPlanner planner_;
  PmixRelay pmix_;      // of plan_
  MpirunWatch mpirun_;  // the same
  bool mpirun_is_quiet_ = false;
  UniqueFd mpirun_log_;  // once it has said something
  OutputRouter router_;
  std::optional<LiveTarget> status_target_;
  ConnectProgress connecting_;
  std::unique_ptr<PromptServer> prompts_;  // while nodes are being connected
  WatchedFd front_;
  StdinRelay stdin_;
  WatchedFd signals_;
  std::optional<RunDirectory> folder_;
  std::optional<EventLog> events_;
  std::optional<RunPresence> presence_;
  OutputTimesWriter times_;  // of output from other nodes
  Timer write_times_;
  bool times_wait_ = false;
  std::optional<RunOrigin> origin_;  // once there is a plan
  Timer ask_git_;
  std::unique_ptr<RunningCommand> git_;
  SlurmInquiry slurm_;
  SlurmListener listener_;
  std::string slurm_said_;  // of the signal that ends the run
  HandOver hand_over_;
  CancelOrigins cancels_;
  PassedSignals passed_;
  bool cancelled_while_collecting_ = false;
  bool cancelled_in_finish_ = false;
  bool front_gone_ = false;
  bool finishing_ = false;                   // queue_ has no reader any more
  std::optional<MonotonicTime> finish_due_;  // whatever output is still under way
  bool told_stdout_broken_ = false;
  std::array<bool, 2> given_up_{};  // stdout, stderr: not waited for any more
  std::vector<wire::OutputEnd> lost_output_;
  std::string shown_path_;  // of the run folder, as the user would type it
  std::optional<LaunchPlan> plan_;
  std::string attempt_folder_;
  std::deque<Event> queue_;
  bool local_node_lost_ = false;
  std::vector<std::function<void()>> questions_;  // to be asked when the console has caught up
  bool collection_ended_ = false;                 // of the last attempt with ranks
  Timer catch_up_;
  bool started_ = false;  // the ranks of this attempt were told to start
};

}  // namespace dlaunch
