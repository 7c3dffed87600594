#include "launch/front/front.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/connect/shared_masters.h"
#include "launch/front/bounded_work.h"
#include "launch/front/engine_death.h"
#include "launch/front/front_link.h"
#include "launch/front/last_resort.h"
#include "launch/front/terminal_prompt.h"
#include "model/signal_names.h"
#include "os/cgroup.h"
#include "os/clock.h"
#include "os/containment.h"
#include "os/job_tree.h"
#include "os/signals.h"
#include "os/stuck.h"
#include "os/time_slice.h"
#include "runs/run_index.h"

namespace dlaunch {

namespace {

// Agents clean up by themselves when their engine is gone; after this time, the front does.
constexpr std::chrono::seconds kPatience{3};
constexpr std::chrono::seconds kCleanupLimit{30};
constexpr std::chrono::seconds kRecordLimit{3};
// How often the front checks the engine: normally, and in a cancelled run.
constexpr std::chrono::seconds kLook{5};
constexpr std::chrono::seconds kLookAgain{2};  // once the engine was found waiting for a disk
constexpr std::chrono::seconds kLookOften{1};
constexpr int kLookForTerminal = 500;  // milliseconds
// A second Ctrl-C within this time ends the run.
constexpr std::chrono::seconds kTwice{1};
// We get no signal when a descendant that is not our child ends.
constexpr std::chrono::milliseconds kLookForOrphans{1};

class Front {
 public:
  Front(pid_t engine, std::set<pid_t> before, UniqueFd link, UniqueFd signals,
        const FrontOptions& options)
      : engine_(engine),
        before_(std::move(before)),
        link_(std::move(link)),
        signals_(std::move(signals)),
        engine_end_(open_pidfd(engine)),
        options_(options),
        stdin_open_(options.forward_stdin),
        stdin_is_terminal_(options.forward_stdin && ::isatty(STDIN_FILENO) == 1) {
    // If we are moved to the background between the check and the read, the read fails, and we go
    // on.
    if (stdin_is_terminal_) std::signal(SIGTTIN, SIG_IGN);
  }

  int run() {
    while (true) {
      const bool wants_stdin = stdin_open_ && stdin_welcome_ && !asking_;
      // In the background, typed input belongs to the shell. No event says when we are in the
      // foreground again.
      const bool must_wait = (wants_stdin || prompt_.fd() >= 0) && is_in_background();
      std::array<pollfd, 5> watched{{{engine_end_.get(), POLLIN, 0},
                                     {signals_.get(), POLLIN, 0},
                                     {link_.get(), POLLIN, 0},
                                     {wants_stdin && !must_wait ? STDIN_FILENO : -1, POLLIN, 0},
                                     {must_wait ? -1 : prompt_.fd(), POLLIN, 0}}};
      const auto look = std::chrono::duration_cast<std::chrono::milliseconds>(until_next_look());
      const int limit = must_wait ? kLookForTerminal : static_cast<int>(look.count());
      // EINTR: stopped and continued
      if (::poll(watched.data(), watched.size(), limit) < 0) continue;
      if (watched[1].revents != 0) pass_signals();
      if (watched[2].revents != 0) read_link();
      if (handed_over_) return exit_code::kOk;
      if (watched[3].revents != 0) pass_stdin();
      if (watched[4].revents != 0) pass_answer();
      // Without pidfds (Linux before 5.3, some sandboxes) only the link's end shows the engine's.
      if (watched[0].revents != 0 || (!engine_end_ && !link_)) return engine_ended();
      if (!look_after_engine()) return leave_engine();
    }
  }

 private:
  void pass_signals() {
    while (const int number = repeated_.read(signals_.get())) {
      if (number == SIGINT && is_for_rank()) {
        send_front_message(link_.get(), FrontMessage::interrupt, nullptr, 0, false);
        ::kill(engine_, SIGCONT);
        continue;
      }
      if (number != SIGUSR1 && number != SIGUSR2) {
        cancelled_by_ = number;
        next_look_ = std::min(next_look_, monotonic_now() + kLookOften);
        resort_.cancelled();
      }
      const char byte = static_cast<char>(number);
      // An engine that has not read hundreds of signals will not read this one either.
      send_front_message(link_.get(), FrontMessage::signal, &byte, 1, false);
      // A stopped engine must be continued, or Ctrl-C would have no effect.
      ::kill(engine_, SIGCONT);
    }
  }

  /// Whether this Ctrl-C is for a rank with a terminal of its own; a second within kTwice is not.
  bool is_for_rank() {
    if (!options_.interrupts_rank || resort_.is_cancelled()) return false;
    const MonotonicTime before = std::exchange(interrupted_, monotonic_now());
    return before.count() == 0 || interrupted_ - before > kTwice;
  }

  void read_link() {
    char message[kMostFrontMessage];
    ssize_t n = 0;
    // Reads everything: the engine may have ended right after its last message.
    while ((n = ::recv(link_.get(), message, sizeof message, MSG_DONTWAIT)) > 0)
      take(static_cast<FrontMessage>(message[0]),
           std::string(message + 1, static_cast<std::size_t>(n) - 1));
    if (n == 0) link_.reset();  // the engine's pidfd reports the end
  }

  void take(FrontMessage kind, const std::string& body) {
    resort_.heard();
    if (kind == FrontMessage::stdin_more) stdin_welcome_ = true;
    if (kind == FrontMessage::ask) ask(body);
    if (kind == FrontMessage::withdraw) end_question();
    if (kind == FrontMessage::run_folder) {
      const std::size_t end = std::min(body.find('\0'), body.size());
      run_folder_ = body.substr(0, end);
      shown_folder_ = body.substr(std::min(end + 1, body.size()));
    }
    if (kind != FrontMessage::started || !options_.detach) return;
    if (!resort_.is_cancelled()) return hand_over();
    // The run is being stopped: we stay to return its exit code.
    std::fprintf(stderr,
                 "dlaunch: the run was stopped as it started; its messages are in "
                 "%s/dlaunch.log\n",
                 shown_folder_.c_str());
  }

  void ask(const std::string& body) {
    asking_ = !body.empty() &&
              prompt_.ask(static_cast<Prompt::Kind>(body[0]), std::string_view(body).substr(1));
    if (!asking_) send_front_message(link_.get(), FrontMessage::refuse);
  }

  void pass_answer() {
    bool done = false;
    std::optional<std::string> answer = prompt_.read(done);
    if (!done) return;
    asking_ = false;
    if (!answer) {
      send_front_message(link_.get(), FrontMessage::refuse);
      return;
    }
    const std::size_t size = answer->size();
    send_front_message(link_.get(), FrontMessage::answer, answer->c_str(), size);
    ::explicit_bzero(answer->data(), size);
  }

  void end_question() {
    prompt_.withdraw();
    asking_ = false;
  }

  /// The engine has already left our terminal.
  void hand_over() {
    if (options_.is_keeper) {
      send_front_message(link_.get(), FrontMessage::hand_over);
      handed_over_ = true;
      return;
    }
    const std::string id = run_folder_.substr(run_folder_.rfind('/') + 1);
    const std::string run = word_for_run(shown_folder_);
    std::signal(SIGPIPE, SIG_IGN);  // a closed pipe does not end the run
    // A stalled reader must not block us forever: a signal now ends us, and so the run.
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    std::printf("%s\n", id.c_str());
    std::fflush(stdout);
    if (!options_.quiet) {
      std::fprintf(stderr, "dlaunch: detached; to see it: dlaunch logs -f %s\n", run.c_str());
      std::fprintf(stderr, "                   to end it: dlaunch stop %s\n", run.c_str());
    }
    send_front_message(link_.get(), FrontMessage::hand_over);
    handed_over_ = true;
  }

  /// Whether we are in the background of stdin's terminal; false without job control.
  [[nodiscard]] bool is_in_background() const {
    if (!stdin_is_terminal_) return false;
    const pid_t foreground = ::tcgetpgrp(STDIN_FILENO);
    return foreground >= 0 && foreground != ::getpgrp();
  }

  void pass_stdin() {
    char bytes[kStdinChunk];
    const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n < 0 && errno == EIO && is_in_background()) return;
    if (n > 0) {
      stdin_welcome_ = false;
      send_front_message(link_.get(), FrontMessage::stdin_data, bytes, static_cast<std::size_t>(n));
    } else {
      stdin_open_ = false;
      send_front_message(link_.get(), FrontMessage::stdin_end);
    }
  }

  int engine_ended() {
    int status = 0;
    while (::waitpid(engine_, &status, 0) < 0 && errno == EINTR) {
    }
    const bool clean = wait_for_agents() || kill_descendants(kCleanupLimit, before_);
    if (!clean) tell_what_is_left();
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    sweep_abandoned_cgroups();  // in case agent and guardian were killed with the engine
    const std::string what = "the engine (pid " + std::to_string(engine_) + ") was killed by " +
                             signal_name(WTERMSIG(status)) + "; " +
                             (clean ? "every process of the job has been ended"
                                    : "processes of the job may still be running");
    std::fprintf(stderr, "dlaunch: internal error: %s\n", what.c_str());
    record({what});
    return exit_code::kInternal;
  }

  /// Takes a limited time: the folder's file system may not answer.
  void record(const EngineDeath& death) const {
    if (run_folder_.empty()) return;
    const pid_t writer =
        do_within(kRecordLimit, [&] { record_engine_death(run_folder_, shown_folder_, death); });
    if (writer == 0) return;
    std::fprintf(stderr, "dlaunch: pid %d will write %s/summary.json as soon as %s answers\n",
                 static_cast<int>(writer), shown_folder_.c_str(), run_file_system().c_str());
  }

  [[nodiscard]] std::string run_file_system() const {
    const std::string found = run_folder_.empty() ? "" : file_system_of(run_folder_);
    return found.empty() ? "its file system" : found;
  }

  /// Ends a cancelled run, whether or not its engine can. False: stop waiting for the engine.
  bool look_after_engine() {
    const MonotonicTime now = monotonic_now();
    if (now < next_look_) return true;
    if (!resort_.is_cancelled()) tell_if_stuck();
    next_look_ = now + until_next_look();
    if (!resort_.is_cancelled()) return true;
    const LastResort::Step step = resort_.second();
    if (step.ask) send_front_message(link_.get(), FrontMessage::ping, nullptr, 0, false);
    if (step.tell) tell_silence();
    if (step.kill) end_job_processes();
    return !step.leave;
  }

  [[nodiscard]] std::chrono::seconds until_next_look() const {
    if (resort_.is_cancelled()) return kLookOften;
    return was_stuck_ && !told_stuck_ ? kLookAgain : kLook;
  }

  /// Reports only after two checks in a row, so a short wait for a disk does not count.
  void tell_if_stuck() {
    const std::vector<StuckProcess> stuck = find_stuck({engine_});
    if (!stuck.empty() && was_stuck_ && !std::exchange(told_stuck_, true))
      std::fprintf(stderr,
                   "dlaunch: note: the launcher is stuck: %s; the ranks go on; Ctrl-C twice ends "
                   "the job\n",
                   describe(stuck).c_str());
    was_stuck_ = !stuck.empty();
  }

  void tell_silence() const {
    const std::string stuck = describe(find_stuck(launcher_processes(engine_)));
    std::fprintf(stderr, "dlaunch: the launcher does not answer%s%s; %s\n",
                 stuck.empty() ? "" : ": ", stuck.c_str(),
                 resort_.is_cancelled_twice() ? "dlaunch ends the job without it"
                                              : "Ctrl-C again ends the job without it");
  }

  void end_job_processes() {
    const std::vector<pid_t> killed = kill_job_processes(engine_, kPatience);
    if (killed.empty()) return;
    std::fprintf(stderr, "dlaunch: killed %zu %s of the job that the launcher could not end\n",
                 killed.size(), killed.size() == 1 ? "process" : "processes");
  }

  /// A process that waits for a file system gets its SIGKILL when the file system answers.
  int leave_engine() {
    kill_descendants(kCleanupLimit, before_);
    sweep_abandoned_cgroups();
    std::fprintf(stderr,
                 "dlaunch: the launcher did not answer for %u s, so dlaunch continues without it; "
                 "every process of the job has ended except those named below\n",
                 LastResort::kLeaveAfter);
    tell_what_is_left();
    const int code = exit_code::kSignalBase + cancelled_by_;
    record({"the launcher waited for " + run_file_system() + " and did not answer",
            Cause::cancelled, code, cancelled_by_});
    return code;
  }

  void tell_what_is_left() const {
    const std::vector<StuckProcess> stuck = find_stuck(descendants(before_));
    if (stuck.empty()) return;
    std::fprintf(stderr, "dlaunch: %s; %s as soon as the kernel lets %s\n", describe(stuck).c_str(),
                 stuck.size() == 1 ? "it ends" : "they end", stuck.size() == 1 ? "it" : "them");
  }

  // Orphans of the engine become our children (subreaper): the guardian is among them and ends when
  // everything is cleaned up.
  bool wait_for_agents() {
    for (const MonotonicTime end = monotonic_now() + kPatience; monotonic_now() < end;) {
      const ReapPass reaped = reap_some();
      if (reaped.none_left) return true;
      before_.merge(shared_masters());  // of connect.persist
      if (!before_.empty() && descendants(before_).empty()) return true;
      if (!reaped.more) wait_for_child(kLookForOrphans);
    }
    return false;
  }

  pid_t engine_;
  std::set<pid_t> before_;  // children inherited over exec from another program: not ours to end
  UniqueFd link_;
  UniqueFd signals_;
  RepeatedSignals repeated_;
  UniqueFd engine_end_;
  FrontOptions options_;
  std::string run_folder_;    // absolute; empty: there is none yet
  std::string shown_folder_;  // as the user would type it
  TerminalPrompt prompt_;
  bool asking_ = false;
  bool handed_over_ = false;
  LastResort resort_;
  int cancelled_by_ = 0;  // the last signal that cancelled
  MonotonicTime interrupted_{0};  // when Ctrl-C last came
  MonotonicTime next_look_ = monotonic_now() + kLook;
  bool was_stuck_ = false;  // the engine, at the last look
  bool told_stuck_ = false;
  bool stdin_open_;
  bool stdin_is_terminal_;
  bool stdin_welcome_ = false;
};

std::vector<int> signals_to_pass() {
  // Ignored signals stay ignored: SIGHUP under nohup(1), SIGINT and SIGQUIT in what a shell without
  // job control starts in the background (POSIX XCU 2.11).
  std::vector<int> signals{SIGTERM};
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2}) {
    if (!is_ignored(signal)) signals.push_back(signal);
  }
  return signals;
}

int run_engine(const std::function<int(UniqueFd)>& engine, UniqueFd link) {
  ::setsid();
  wake_when_parent_dies();
  shorten_time_slice();
  return engine(std::move(link));
}

}  // namespace

int run_front(const std::function<int(UniqueFd link)>& engine, const FrontOptions& options) {
  ensure_standard_descriptors();
  // If SIGCHLD stayed ignored, the kernel would discard the engine's exit status (wait(2)).
  std::signal(SIGCHLD, SIG_DFL);
  const std::vector<int> passed = signals_to_pass();
  block_signals(passed);
  block_signals({SIGCHLD});  // for wait_for_child()
  auto signal_fd = open_signal_fd(passed);
  auto ends = make_socket_pair(SOCK_SEQPACKET);
  if (!signal_fd || !ends) {
    std::fprintf(stderr, "dlaunch: %s\n",
                 (!signal_fd ? signal_fd.error() : ends.error()).message.c_str());
    return exit_code::kInternal;
  }
  become_subreaper();
  siginfo_t ended{};
  const bool has_children = ::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0;
  const std::vector<pid_t> before = has_children ? children_of(::getpid()) : std::vector<pid_t>();
  const pid_t pid = ::fork();
  if (pid < 0) {
    std::fprintf(stderr, "dlaunch: cannot fork: %s\n", errno_text(errno).c_str());
    return exit_code::kInternal;
  }
  if (pid == 0) {
    ends->first.reset();
    ::_exit(run_engine(engine, std::move(ends->second)));
  }
  ends->second.reset();
  shorten_time_slice();
  return Front(pid, {before.begin(), before.end()}, std::move(ends->first), std::move(*signal_fd),
               options)
      .run();
}

}  // namespace dlaunch
