// The real Engine: sessions, console, log files and the link to the front, on one Asio thread.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "launch/cluster_sessions.h"
#include "launch/engine.h"
#include "launch/output_router.h"
#include "log/console_writer.h"
#include "log/event_log.h"
#include "model/launch_plan.h"
#include "os/event_loop.h"
#include "plan/make_plan.h"
#include "report/run_directory.h"

namespace dlaunch {

struct RunOptions {
  JobSpec spec;
  std::string job_text;        // copied into the run folder
  std::string current_folder;  // absolute
  Environment environment;     // the caller's
  bool quiet = false;
  int verbosity = 0;  // 1: -v, 2: -vv
};

class RunEngine : public Engine {
 public:
  RunEngine(const RunOptions& options, LocalStart local, UniqueFd front_link);

  [[nodiscard]] Status open_run_folder();

  [[nodiscard]] Result<Event> wait(std::optional<MonotonicTime> deadline) override;
  [[nodiscard]] Status perform(const Action& action) override;
  [[nodiscard]] MonotonicTime now() const override;
  [[nodiscard]] WallTime wall_time() const override;

  /// After the last event: brings out what the console still takes, lets the agents go, writes
  /// summary.json and says the summary. Every wait has a limit.
  void finish(const RunReport& report);
  /// The same for an error that ended the launcher itself.
  void finish(const Error& error);

 private:
  void begin(const action::ConnectNode& connect) { sessions_.connect(connect.node); }
  void begin(const action::MakePlan& make);
  void begin(const action::StartRanks& start);
  void begin(const action::StopRanks& stop) {
    sessions_.send(stop.node, wire::StopRanks{stop.attempt, stop.signal});
  }
  void begin(const action::KillRanks& kill) {
    sessions_.send(kill.node, wire::KillRanks{kill.attempt});
  }
  void begin(const action::ReleaseNode& release);
  void begin(const action::Tell& tell) { say("dlaunch: " + tell.line); }
  void begin(const action::Finish&) {}

  void push(Event event);
  void explain(const Event& event) const;
  [[nodiscard]] std::string since_begin() const;
  void node_lost(NodeIndex node);
  void accept_plan(LaunchPlan plan);
  void write_plan_files();
  void say(std::string line);
  void show(const wire::OutputData& data);
  void tell_if_stdout_broke();
  void note(const std::string& text);
  void output_ended(const wire::OutputEnd& end);
  void bring_out_output();
  [[nodiscard]] std::string write_summary(const RunReport& report);
  /// False: the console has taken nothing for 5 s, and is waited for no more.
  bool drain_console();
  void part_from_agents();

  void watch_front();
  void read_front();
  void watch_signals();
  void forward_stdin(std::string bytes);
  void stdin_taken(const wire::StdinTaken& taken);
  template <class Condition>
  void run_until(Condition condition, Duration limit);

  const RunOptions& options_;
  MonotonicTime began_;
  EventLoop loop_;
  ConsoleWriter console_;
  ClusterSessions sessions_;
  OutputRouter router_;
  WatchedFd front_;
  WatchedFd signals_;
  std::optional<RunDirectory> folder_;
  std::optional<EventLog> events_;
  bool told_stdout_broken_ = false;
  std::string shown_path_;  // of the run folder, as the user would type it
  std::optional<LaunchPlan> plan_;
  std::string attempt_folder_;
  std::deque<Event> queue_;
  bool local_node_lost_ = false;
  std::deque<std::string> stdin_waiting_;  // until rank 0 has been told to start
  std::uint64_t stdin_sent_ = 0;
  bool started_ = false;
};

}  // namespace dlaunch
