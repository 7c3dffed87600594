#include "node/agent.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node/containers/container_facts.h"
#include "node/containers/container_service.h"
#include "node/facts.h"
#include "node/inspection.h"
#include "node/mpi/mpi_service.h"
#include "node/mpi/mpirun_probe.h"
#include "node/mpi/mpirun_service.h"
#include "node/mpi/pmix_program.h"
#include "node/output/output_pump.h"
#include "node/preemption/preemption_watch.h"
#include "node/preload/preload_service.h"
#include "node/ranks/prerequisite_check.h"
#include "node/ranks/rank_service.h"
#include "node/ranks/start_files.h"
#include "node/ranks/stdin_pump.h"
#include "node/reach/program_door.h"
#include "node/reach/reach_door.h"
#include "node/reach/reach_knock.h"
#include "node/session/attach.h"
#include "node/session/attach_socket.h"
#include "node/session/lease.h"
#include "node/session/next_session.h"
#include "node/session/session_folder.h"
#include "node/session/session_socket.h"
#include "node/stacks/stack_service.h"
#include "node/stage/collect_service.h"
#include "node/stage/stage_from_service.h"
#include "node/stage/stage_service.h"
#include "node/stage/staged_targets.h"
#include "node/sync/stager.h"
#include "node/terminals/terminal_service.h"
#include "node/watch/rank_watch.h"
#include "os/build_id.h"
#include "os/channel.h"
#include "os/clock.h"
#include "os/containment.h"
#include "os/descriptors.h"
#include "os/enclosure.h"
#include "os/own_machine.h"
#include "os/process_title.h"
#include "os/signals.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kCleanupLimit{30};
// Time for mpirun's daemons on this node, which end when mpirun has ended.
constexpr std::chrono::seconds kDaemonGrace{2};

/// The connection to the launcher, what holds it open, and what the next session takes over.
struct AgentLink {
  LeftConnection connection;
  UniqueFd bringer;  // of a connection that came through the attach socket
  std::vector<LeftTemplate> templates;
};

class Agent {
 public:
  Agent(const AgentOptions& options, AgentLink link, AgentIsolation isolation,
        const UniqueFd& guardian_pidfd, Progress& progress)
      : id_{progress.session, progress.node},
        progress_(progress),
        isolation_refused_(std::move(isolation.refused)),
        machine_(options.machine),
        is_namespace_(isolation.outer_proc.valid()),
        enclosure_(std::move(isolation.outer_proc)),
        channel_(loop_, std::move(link.connection.read), std::move(link.connection.write), id_.node,
                 id_.session),
        early_(std::move(link.connection.early)),
        hello_limit_(options.hello_limit_ms),
        has_arguments_(options.has_arguments),
        reports_signals_(options.reports_signals),
        guardian_(loop_, duplicate(guardian_pidfd.get())),
        heartbeat_(loop_),
        lease_end_(loop_),
        bringer_(std::move(link.bringer)),
        inspection_(loop_, [this](const wire::Inspected& answer) { channel_.send(answer); }),
        prerequisites_(loop_,
                       [this](const wire::PrerequisitesMissing& answer) { channel_.send(answer); }),
        door_(loop_),
        knock_(loop_, [this](const wire::Knocked& knocked) { channel_.send(knocked); }),
        program_(loop_, reached_address(find_variable(login_, "SSH_CONNECTION").value_or(""))),
        pump_(loop_, channel_),
        stdin_(loop_, channel_),
        stager_(loop_, login_, [this](const wire::FromAgent& message) { channel_.send(message); }),
        stage_(loop_, login_,
               [this](wire::StageAnswer answer) {
                 channel_.send(wire::widened<wire::FromAgent>(std::move(answer)));
               }),
        collecting_(loop_, login_,
                    [this](wire::CollectAnswer answer) {
                      channel_.send(wire::widened<wire::FromAgent>(std::move(answer)));
                    }),
        stage_from_(loop_,
                    [this](wire::FromNodeAnswer answer) {
                      channel_.send(wire::widened<wire::FromAgent>(std::move(answer)));
                    }),
        staged_(loop_, login_, [this](const wire::StagedSeen& seen) { channel_.send(seen); }),
        mpi_(loop_, channel_, id_),
        mpirun_probe_(loop_),
        pmix_probe_(loop_),
        mpirun_(loop_, channel_, progress),
        containers_(loop_, progress),
        stacks_(loop_, [this](const wire::StacksTaken& answer) { channel_.send(answer); }),
        terminals_(
            loop_, [this](const wire::FromAgent& message) { channel_.send(message); }, containers_),
        watch_(loop_, pump_, [this](const wire::Pulse& pulse) { channel_.send(pulse); }),
        preemption_(loop_, enclosure_,
                    [this](const wire::FromAgent& message) { channel_.send(message); }),
        preload_(loop_, enclosure_,
                 [this](std::string text) { channel_.send(wire::Notice{std::move(text)}); }),
        ranks_(loop_, channel_, pump_, stdin_, facts_, mpi_, mpirun_, containers_, stacks_,
               terminals_, watch_, preemption_, preload_, enclosure_) {
    preload_.adopt(std::move(link.templates));
  }

  int run() {
    channel_.start(
        {.on_message =
             [this](wire::ToAgent message) { std::visit([this](auto& m) { on(m); }, message); },
         .on_end = [this](const std::string&) { launcher_gone(); },
         .on_drained = [this] { pump_.resume(); },
         .on_lost = [this](const std::string&) { connection_lost(); },
         .on_resume = [this](const wire::Resume& theirs) { pump_.rewind(theirs); }},
        early_);
    guardian_.on_readable([this] { guardian_gone(); });
    if (const Status ready = ranks_.watch_children(); !ready) return ready.error().exit_code;
    if (reports_signals_) watch_signals();
    beat();
    // If the network is cut before the Hello, not even an end of file arrives.
    if (hello_limit_.count() > 0) lease_end_.after(hello_limit_, [this] { launcher_gone(); });
    loop_.run();
    return exit_code_;
  }

  /// After run(): what the next session takes over; nullopt: no session follows.
  [[nodiscard]] std::optional<AgentLink>& left() { return left_; }

 private:
  void on(wire::Hello& hello) {
    greeted_ = true;
    lease_end_.cancel();
    heartbeat_every_ = std::chrono::milliseconds(std::max(hello.heartbeat_ms, 10U));
    progress_.heartbeat_ms = static_cast<std::uint32_t>(heartbeat_every_.count());
    progress_.fence_after_ms = hello.fence_after_ms;
    wire::Hello answer;
    answer.build_id = own_build_id();
    channel_.send(answer);
    if (hello.keep_on_channel_loss) keep_session(std::chrono::milliseconds(hello.fence_after_ms));
  }
  void on(wire::OpenDoor& door) { channel_.send(door_.open(door, facts_.held_port(door.port))); }
  void on(wire::Knock& knock) { knock_.begin(std::move(knock)); }
  void on(wire::CloseDoor&) { end_reach_check(); }
  void end_reach_check() {
    door_.close();
    knock_.stop();
  }
  // Posted for later: gathering takes a while, and the answer to a heartbeat that arrived with this
  // request must not wait for it.
  void on(wire::FactsRequest& request) {
    loop_.post([this, request] { gather_facts(request); });
  }
  // While ranks run, the agent has no listening socket for other nodes.
  void on(wire::ServeProgram& order) {
    const bool may_listen = ranks_.running().empty();
    channel_.send(may_listen ? program_.serve(order) : wire::ProgramServed{order.id, {}});
  }
  void on(wire::CheckPrerequisites& question) { prerequisites_.begin(question, login_); }
  void on(wire::StartRanks& start) {
    if (!ranks_.accepts(start)) return;  // then nothing is watched either
    end_reach_check();
    program_.close();
    pump_.keep_times(!start.log_folder.empty());
    if (start.log_folder.empty()) start.log_folder = folder_.of_attempt(start.attempt);
    name_process(start.env);
    watch_.begin(start, heartbeat_every_, login_, [this] { return ranks_.running(); });
    preemption_.begin(start, login_);
    ranks_.start(std::move(start));
  }
  /// Sets what ps(1) shows, here and in the guardian.
  void name_process(const Environment& environment) {
    const std::string run = find_variable(environment, "DLAUNCH_RUN_ID").value_or("");
    if (!progress_.knows_run && !run.empty() && run.size() < progress_.run.size()) {
      run.copy(progress_.run.data(), run.size());
      progress_.knows_run = true;
      set_process_title(agent_title("agent", progress_, has_arguments_));
    }
  }
  void on(wire::Deadline& deadline) { write_deadline(deadline); }
  void on(wire::StartMpirun& start) { ranks_.start_mpirun(start); }
  void on(wire::Inspect& question) { inspection_.begin(question); }
  void on(wire::TakeStacks& question) { stacks_.take(question, ranks_.processes(question)); }
  void on(wire::PySpyData& data) {
    if (const auto taken = stacks_.take(data)) channel_.send(*taken);
  }
  void on(wire::SeeCheckpoints& question) { ranks_.see(question); }
  void on(wire::OpenTerminal& request) { terminals_.open(request, ranks_.place_of(request)); }
  void on(wire::TerminalInput& input) { terminals_.on(input); }
  void on(wire::ResizeTerminal& resize) { terminals_.on(resize); }
  void on(wire::TerminalTaken& taken) { terminals_.on(taken); }
  void on(wire::CloseTerminal& close) { terminals_.on(close); }
  void on(wire::SyncBegin& begin) { stager_.on(begin); }
  void on(wire::SyncEntries& entries) { stager_.on(entries); }
  void on(wire::SyncSettled& settled) { stager_.on(settled); }
  void on(wire::SyncRemove& remove) { stager_.on(remove); }
  void on(wire::SyncData& data) { stager_.on(data); }
  void on(wire::SyncEnd& end) { stager_.on(end); }
  void on(wire::OneOf<wire::StageOrder> auto& order) { stage_.on(order); }
  void on(wire::CollectBegin& begin) { collecting_.on(begin); }
  void on(wire::SeeStaged& question) { staged_.begin(question); }
  void on(wire::OneOf<wire::StageAnswer> auto& answer) { collecting_.on(answer); }
  void on(wire::StageFrom& order) { stage_from_.on(order); }
  void on(wire::StageLetter& letter) { stage_from_.on(letter); }
  void on(wire::StageLost& lost) { stage_from_.on(lost); }
  void on(wire::StopRanks& stop) { ranks_.stop(stop); }
  void on(wire::KillRanks& kill) { ranks_.kill(kill); }
  void on(wire::SignalRanks& pass) { ranks_.pass(pass); }
  void on(wire::FetchOutput& fetch) { channel_.send(pump_.fetch(fetch)); }
  void on(wire::ForgetOutput& forget) {
    pump_.forget(forget.attempt);
    folder_.forget(forget.attempt);
  }
  void on(wire::OutputCredit& credit) { pump_.credit(credit); }
  void on(wire::StdinData& data) { stdin_.add(data); }
  void on(wire::Heartbeat& beat) {
    const MonotonicTime now = monotonic_now();
    heard_ = beat.sent;
    heard_at_ = now;
    if (lease_) lease_->confirm(std::min(MonotonicTime(beat.echo), now));
    // The first heartbeat of a connection is answered at once, so that the launcher learns our
    // clock.
    if (!std::exchange(answered_, true)) send_heartbeat();
  }
  void on(wire::Bye& bye) {
    // An agent that is init of a PID namespace serves no other session: the namespace was made for
    // this job.
    const bool stays = bye.stays && !is_namespace_;
    end_everything(stays);
    folder_.remove_if_empty();
    channel_.send(wire::Bye{stays});
    if (attach_) attach_->close();
    if (stays) {
      if (auto connection = channel_.leave())
        left_.emplace(AgentLink{std::move(*connection), std::move(bringer_), preload_.leave()});
    }
    leave(exit_code::kOk);
  }
  void on(wire::PreparePmix& job) { mpi_.prepare(job); }
  void on(wire::PmixFence& done) { mpi_.on(done); }
  void on(wire::PmixWanted& wanted) { mpi_.on(wanted); }
  void on(wire::PmixData& data) { mpi_.on(data); }

  void make_folder(const std::string& name, NodeFacts& facts) {
    if (name.empty()) return;
    if (const Status made = folder_.make(name); !made) facts.output_refused = made.error().message;
    facts.output_folder = folder_.path();
  }

  void gather_facts(const wire::FactsRequest& request) {
    end_reach_check();  // other ports are about to be reserved
    wire::Facts facts{facts_.gather(request), request.attempt};
    facts.facts.isolation_refused = isolation_refused_;
    find_containers(request, login_, facts.facts);
    if (request.network) facts.facts.machine = machine_.empty() ? machine_identity() : machine_;
    make_folder(request.output_name, facts.facts);
    mpirun_probe_.ask(request, login_,
                      [this, facts = std::move(facts),
                       wanted = request.pmix](const MpirunProbe::Answer& mpirun) mutable {
                        facts.facts.mpirun = mpirun.program;
                        facts.facts.mpirun_version = mpirun.version;
                        ask_for_pmix(wanted, std::move(facts));
                      });
    loop_.post([this] { ranks_.prepare(); });  // while the launcher makes its plan
  }

  void ask_for_pmix(bool wanted, wire::Facts facts) {
    pmix_probe_.ask(wanted, [this, facts = std::move(facts)](std::string why) mutable {
      facts.facts.no_pmix = std::move(why);
      channel_.send(facts);
    });
  }

  void beat() {
    progress_.beats.fetch_add(1);
    if (greeted_) send_heartbeat();
    watch_lease();
    watch_.look();
    heartbeat_.after(heartbeat_every_, [this] { beat(); });
  }

  void watch_signals() {
    if (!signals_) {
      auto fd = open_signal_fd(signals_of_schedulers());
      if (!fd) return;
      signals_ = std::make_unique<WatchedFd>(loop_, std::move(*fd));
    }
    signals_->on_readable([this] {
      while (const int number = read_signal(signals_->get()))
        channel_.send(wire::Signalled{number});
      watch_signals();
    });
  }

  void send_heartbeat() {
    const MonotonicTime now = monotonic_now();
    const auto held = heard_ == 0 ? MonotonicTime(0) : now - heard_at_;
    channel_.send(wire::Heartbeat{wall_now(), static_cast<std::uint64_t>(now.count()), heard_,
                                  static_cast<std::uint64_t>(held.count())});
  }

  void keep_session(MonotonicTime fence_after) {
    if (lease_) return;
    lease_.emplace(fence_after, heartbeat_every_, monotonic_now());
    attach_ = std::make_unique<AttachSocket>(
        loop_, id_, [this](NewConnection connection) { resume_over(std::move(connection)); });
    if (const Status opened = attach_->open(); !opened) {
      attach_.reset();
      channel_.send(
          wire::Notice{"a broken connection cannot be resumed, because no socket can be "
                       "created: " +
                       opened.error().message});
    }
    watch_lease();
  }

  /// Ends the ranks before the launcher may assume that they have ended.
  void watch_lease() {
    if (!lease_) return;
    const MonotonicTime now = monotonic_now();
    lease_->still_here(now);
    if (now >= lease_->end()) {
      end_everything();
      return leave(kAgentFenced);
    }
    progress_.lease_end = static_cast<std::uint64_t>(lease_->end().count());
    lease_end_.after(lease_->end() - now, [this] { watch_lease(); });
  }

  void resume_over(NewConnection connection) {
    bringer_ = std::move(connection.bringer);
    answered_ = false;
    wire::Resume mine;
    mine.connection = connection.resume.connection;
    channel_.go_on_over(std::move(connection.read), std::move(connection.write), std::move(mine),
                        connection.resume);
    send_heartbeat();
  }

  void connection_lost() {
    bringer_.reset();
    if (!attach_) launcher_gone();
  }

  // The channel of a forked agent ends without Bye only if the launcher is dead: kill at once.
  void launcher_gone() {
    end_everything();
    leave(exit_code::kNodeLost);
  }

  void guardian_gone() {
    channel_.send(wire::Notice{"its guardian was killed"});
    end_everything();
    // The connection has probably ended with the guardian, so leave a note for the next connection.
    if (attach_) record_session_end(session_folders(), id_, "its guardian was killed");
    leave(exit_code::kNodeLost);
  }

  /// `stays`: another session follows, which may use the templates.
  void end_everything(bool stays = false) {
    stager_.abandon();
    stage_.abandon();
    collecting_.abandon();
    stage_from_.abandon();
    program_.close();
    raise_open_file_limit();
    mpi_.kill();
    containers_.kill_all();
    const std::set<pid_t> spared = stays ? preload_.templates() : std::set<pid_t>();
    kill_descendants(
        kCleanupLimit, [&] { return enclosure_.kill_once(spared); }, !spared.empty());
    stage_.release();
    containers_.clear_now();
    enclosure_.remove();
    mpirun_.end();
    mpirun_.end_daemons(kDaemonGrace);
    mpi_.remove_folders();
    pump_.drain();  // the last output is still in the pipes
  }

  void leave(int code) {
    exit_code_ = code;
    if (bringer_) (void)!::send(bringer_.get(), &kFarewell, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    channel_.close();
    loop_.stop();
  }

  EventLoop loop_;
  const Environment login_ = environment_from_block(environ);
  const SessionId id_;
  Progress& progress_;
  const std::string isolation_refused_;
  const std::string machine_;  // empty: determined here
  const bool is_namespace_;    // the agent is the init process of one
  Enclosure enclosure_;
  AgentChannel channel_;
  const std::string early_;
  const std::chrono::milliseconds hello_limit_;
  const bool has_arguments_;  // shown by ps(1) after the name
  const bool reports_signals_;
  std::unique_ptr<WatchedFd> signals_;
  WatchedFd guardian_;
  Timer heartbeat_;
  Timer lease_end_;
  std::chrono::milliseconds heartbeat_every_{1000};
  bool greeted_ = false;
  std::uint64_t heard_ = 0;  // `sent` of the launcher's latest heartbeat
  MonotonicTime heard_at_{0};
  bool answered_ = false;                 // the first heartbeat of this connection was answered
  std::optional<Lease> lease_;            // if the session outlives its connection
  std::unique_ptr<AttachSocket> attach_;  // with a lease, if its socket could be made
  UniqueFd bringer_;  // while open, the process that brought the connection stays
  FactsService facts_;
  SessionFolder folder_{output_bases(login_)};
  Inspection inspection_;
  PrerequisiteCheck prerequisites_;
  ReachDoor door_;  // uses the ports of facts_
  ReachKnock knock_;
  ProgramDoor program_;
  OutputPump pump_;
  StdinPump stdin_;
  Stager stager_;
  StageService stage_;
  CollectService collecting_;
  StageFromService stage_from_;
  StagedTargets staged_;
  MpiService mpi_;
  MpirunProbe mpirun_probe_;
  PmixProbe pmix_probe_;
  MpirunService mpirun_;
  ContainerService containers_;
  StackService stacks_;
  TerminalService terminals_;
  RankWatch watch_;
  PreemptionWatch preemption_;
  PreloadService preload_;
  RankService ranks_;
  int exit_code_ = exit_code::kInternal;
  std::optional<AgentLink> left_;
};

/// Ends the agent: no launcher has begun another session.
/// Without destructors: the launcher waits for our end. A thread of os/memory_broker that waits in
/// the kernel may outlive this one, so what the threads share is closed here.
[[noreturn]] void end_agent(int code) {
  close_all_but({});
  redirect_to_null({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
  ::_exit(code);
}

[[noreturn]] void leave_between_sessions(const AgentLink& link) {
  kill_descendants(kCleanupLimit);
  const UniqueFd& bringer = link.bringer;
  if (bringer) (void)!::send(bringer.get(), &kFarewell, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  end_agent(exit_code::kOk);
}

/// Clears the last session from the page, where the guardian then sees the next one.
void set_session(Progress& progress, SessionId id) {
  progress.lease_end = 0;
  progress.knows_run = false;
  progress.run.fill('\0');
  progress.entry_folder.fill('\0');
  progress.join_folder.fill('\0');
  progress.node = id.node;
  progress.session = id.session;
}

}  // namespace

void agent_main(AgentOptions options, AgentIsolation isolation, const UniqueFd& guardian_pidfd,
                Progress& progress) {
  rlimit open_files{};  // a session raises the limit; the ranks of every session get this one
  ::getrlimit(RLIMIT_NOFILE, &open_files);
  options.launcher = {};  // the guardian watches it
  AgentLink link{{std::move(options.read), std::move(options.write), {}}, {}, {}};
  while (true) {
    set_process_title(agent_title("agent", progress, options.has_arguments));
    Agent agent(options, std::move(link), std::exchange(isolation, {}), guardian_pidfd,
                progress);
    const int code = agent.run();
    if (!agent.left()) end_agent(code);
    link = std::move(*agent.left());
    const auto next = wait_for_session(
        link.connection, {progress.session, progress.node}, guardian_pidfd,
        std::chrono::milliseconds(options.hello_limit_ms),
        std::chrono::milliseconds(progress.heartbeat_ms), [&] { progress.beats.fetch_add(1); });
    if (!next) leave_between_sessions(link);
    set_session(progress, *next);
    ::setrlimit(RLIMIT_NOFILE, &open_files);
  }
}

}  // namespace dlaunch
