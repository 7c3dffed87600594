#include "node/containers/container_entry.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/mount.h"
#include "model/rank_variables.h"
#include "node/containers/container_folder.h"
#include "node/containers/entry_protocol.h"
#include "node/ranks/environment_block.h"
#include "node/ranks/running_rank.h"
#include "node/terminals/beside_program.h"
#include "os/acceptor.h"
#include "os/containment.h"
#include "os/cpu_mask.h"
#include "os/descriptors.h"
#include "os/job_tree.h"
#include "os/packet.h"
#include "os/proc_file.h"
#include "os/signals.h"
#include "os/spawn.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostHanded = 5;  // descriptors: the order, three streams, PMI-1
constexpr std::size_t kStreams = 4;
constexpr std::size_t kMostWhy = kMostEntryBytes / 2;
constexpr std::size_t kMostOrder = 64 * 1024 * 1024;
constexpr std::chrono::seconds kCleanupLimit{10};
constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct Handed {
  EntryOrder order;
  std::vector<UniqueFd> descriptors;  // stdin, stdout, stderr, PMI-1
};

bool send(int socket, const std::string& text) {
  ssize_t n = 0;
  do {
    n = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n >= 0;
}

/// Sends the terminal too, if there is one.
bool send(int socket, const EntryNews& news, const UniqueFd& terminal) {
  return terminal ? send_packet(socket, encode(news), {terminal.get()})
                  : send(socket, encode(news));
}

/// Reads from the beginning, because the agent shares the file offset and has moved it.
std::string read_all(int fd) {
  std::string text;
  char bytes[65536];
  ssize_t n = 0;
  while (text.size() < kMostOrder &&
         (n = ::pread(fd, bytes, sizeof bytes, static_cast<off_t>(text.size()))) > 0)
    text.append(bytes, static_cast<std::size_t>(n));
  return text;
}

/// Waits for the order; nullopt: the agent ended, or sent something else.
std::optional<Handed> fetch_order(int socket) {
  Handed handed;
  const auto packet =
      receive_packet(socket, kMostEntryBytes, kMostHanded, handed.descriptors, true);
  if (!packet) return std::nullopt;
  const auto demand = decode_demand(*packet);
  if (!demand || demand->kind != EntryDemand::Kind::order || handed.descriptors.size() < kStreams)
    return std::nullopt;
  auto order = decode_order(read_all(handed.descriptors.front().get()));
  if (!order) return std::nullopt;
  handed.order = std::move(*order);
  handed.descriptors.erase(handed.descriptors.begin());
  return handed;
}

bool is_writable_folder(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
         ::access(path.c_str(), W_OK | X_OK) == 0;
}

/// Whether process_vm_readv(2) can work between the ranks of this node. Docker before version 23
/// forbids the call (its seccomp profile), and the kernel forbids it between user namespaces; each
/// container of rootless podman has its own. `agent` is 0 if it is not in our PID namespace.
bool can_copy_between_ranks(pid_t agent) {
  char from = 0;
  char to = 0;
  const iovec remote{&from, 1};
  const iovec local{&to, 1};
  if (::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) < 0) return false;
  struct stat ours {};
  struct stat the_agents {};
  const std::string path = "/proc/" + std::to_string(agent) + "/ns/user";
  return agent == 0 || ::stat("/proc/self/ns/user", &ours) != 0 ||
         (::stat(path.c_str(), &the_agents) == 0 && ours.st_ino == the_agents.st_ino);
}

/// Open MPI copies messages with process_vm_readv(2), and where that is forbidden, it repeats the
/// call forever (github.com/open-mpi/ompi/issues/4948). `vader` belongs to versions 3 and 4, `smsc`
/// to version 5.
void add_copy_mechanism(pid_t agent, Environment& environment) {
  if (!environment.contains("OMPI_COMM_WORLD_SIZE") || can_copy_between_ranks(agent)) return;
  environment.emplace("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
  environment.emplace("OMPI_MCA_smsc", "^cma");
}

/// The image's environment, with the job's variables on top.
Environment environment_for(const EntryOrder& order, pid_t agent) {
  Environment environment = environment_from_block(environ);
  if (environment.contains("CH_RUNNING")) {
    for (auto& [name, value] : charliecloud_environment(read_proc_file("/ch/environment")))
      environment.insert_or_assign(name, value);
  }
  for (const auto& [name, value] : order.defaults) environment.emplace(name, value);
  for (const auto& [name, value] : order.variables) environment.insert_or_assign(name, value);
  environment.emplace("PATH", kDefaultPath);
  environment.insert_or_assign("PWD", order.workdir);
  add_copy_mechanism(agent, environment);
  // For a user that the image does not know, HOME is "/" or another user's folder, so caches fail.
  auto& home = environment["HOME"];
  if (home.empty() || home == "/" || !is_writable_folder(home)) home = "/tmp";
  return environment;
}

/// The limits of the rank, lowered to what the runtime allows us.
void settle_limits(const EntryOrder& order, rlimit& open_files) {
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  open_files.rlim_max = std::min<rlim_t>(order.open_files_hard, now.rlim_max);
  open_files.rlim_cur = std::min<rlim_t>(order.open_files, open_files.rlim_max);
  // Allow as much locked memory as possible: RDMA needs it.
  if (::getrlimit(RLIMIT_MEMLOCK, &now) == 0) {
    now.rlim_cur = now.rlim_max;
    ::setrlimit(RLIMIT_MEMLOCK, &now);
  }
}

/// The rank's program, and the processes that were signalled with it.
class ContainedProgram {
 public:
  ContainedProgram(EntryOrder order, pid_t agent)
      : order_(std::move(order)), environment_(environment_for(order_, agent)), agent_(agent) {}

  tl::expected<EntryStarted, StartFailure> start(std::vector<UniqueFd> descriptors) {
    if (order_.has_terminal) {
      auto made = make_rank_terminal();
      if (!made) return tl::unexpected(made.error());
      terminal_ = std::move(made->out.read);
      descriptors[0] = std::move(made->in.read);
      descriptors[1] = std::move(made->out.write);
      descriptors[2] = std::move(made->err.write);
    }
    const EnvironmentBase base(environment_, {}, {}, {});
    const EnvironmentBlock environment(base, {});
    const Program file =
        find_program(order_.argv.front(), environment.search_path(), order_.workdir);
    const std::vector<const char*> argv = argv_pointers(order_.argv);
    rlimit open_files{};
    settle_limits(order_, open_files);
    CpuMask cpus(order_.cpus);
    SpawnRequest request;
    request.program = &file;
    request.argv = argv.data();
    request.envp = environment.pointers();
    request.workdir = order_.workdir.c_str();
    request.stdin_fd = descriptors[0].get();
    request.stdout_fd = descriptors[1].get();
    request.stderr_fd = descriptors[2].get();
    request.extra_fd = order_.has_pmi && descriptors.size() > 3 ? descriptors[3].get() : -1;
    request.extra_fd_number = kPmiDescriptor;
    request.cpus = cpus.set();
    request.cpus_size = cpus.size();
    request.open_files = &open_files;
    request.tracer = agent_;  // for `dlaunch stacks`
    request.new_session = request.own_terminal = order_.has_terminal;
    const auto spawned = spawn(request);
    if (!spawned) return tl::unexpected(spawned.error());
    pid_ = spawned->pid;
    return EntryStarted{pid_};
  }
  /// The rank's terminal, if it has one. Call once.
  [[nodiscard]] UniqueFd take_terminal() { return std::move(terminal_); }

  [[nodiscard]] RankPlace place(const Environment& defaults) const {
    rlimit open_files{};
    settle_limits(order_, open_files);
    RankPlace place;
    place.pid = process_of_rank(pid_, order_.is_own_shell ? &order_.argv : nullptr);
    place.variables = environment_;
    for (const auto& [name, value] : defaults) place.variables.emplace(name, value);
    place.workdir = order_.workdir;
    place.cpus = order_.cpus;
    place.open_files = {open_files.rlim_cur, open_files.rlim_max};
    return place;
  }

  void signal(int number) {
    if (status_) return;
    if (is_our_shell()) {
      for (const pid_t child : children_of(pid_)) {
        companions_.insert(child);
        ::kill(child, number);
        ::kill(child, SIGCONT);
      }
    }
    ::kill(pid_, number);
    ::kill(pid_, SIGCONT);  // a stopped process handles no other signal
  }

  void pass(int number) {
    if (status_) return;
    if (!is_our_shell()) {
      ::kill(pid_, number);
      return;
    }
    for (const pid_t child : children_of(pid_)) ::kill(child, number);
  }

  /// Reaps ended children. True: the program was among them.
  bool reap(const std::function<void(const Reaped&)>& on_other = {}) {
    bool ended = false;
    more_to_reap_ = reap_some([&](const Reaped& reaped) {
                      companions_.erase(reaped.pid);
                      if (reaped.pid != pid_ && on_other) on_other(reaped);
                      if (reaped.pid != pid_ || status_) return;
                      status_ = reaped.status;
                      ended = true;
                    }).more;
    return ended;
  }

  /// Sends SIGKILL and waits for the program's end. True: it had not ended before.
  bool kill() {
    if (status_) return false;
    ::kill(pid_, SIGKILL);
    const auto limit = std::chrono::steady_clock::now() + kCleanupLimit;
    while (!status_ && std::chrono::steady_clock::now() < limit) {
      if (!more_to_reap_) wait_for_child(kCleanupLimit);
      reap();
    }
    return status_.has_value();
  }

  /// Whether the program and all processes that were signalled with it have ended. Those that still
  /// live have become our children.
  [[nodiscard]] bool is_over() {
    if (!status_) return false;
    const auto children = children_of(::getpid());
    std::erase_if(companions_, [&](pid_t pid) {
      return std::find(children.begin(), children.end(), pid) == children.end();
    });
    return companions_.empty();
  }
  [[nodiscard]] const ExitStatus& status() const { return *status_; }
  /// Other children may have ended, too: call reap() again.
  [[nodiscard]] bool more_to_reap() const { return more_to_reap_; }

 private:
  [[nodiscard]] bool is_our_shell() const {
    return order_.is_own_shell && runs_command(pid_, order_.argv);
  }

  const EntryOrder order_;
  const Environment environment_;
  const pid_t agent_;  // 0: it is not in our PID namespace
  UniqueFd terminal_;
  pid_t pid_ = 0;
  std::optional<ExitStatus> status_;
  bool more_to_reap_ = false;
  std::set<pid_t> companions_;
};

/// The programs that were started beside the rank's program.
class BesidePrograms {
 public:
  explicit BesidePrograms(int socket) : socket_(socket) {}

  void start(const ContainedProgram& program, const std::vector<UniqueFd>& handed) {
    const auto order = handed.empty() ? std::nullopt : decode_beside(read_all(handed[0].get()));
    if (!order) return;
    const auto started = start(*order, program, handed);
    if (started) return;
    const StartFailure& failure = started.error();
    const std::string why = describe(failure).substr(0, kMostWhy);
    const ExitStatus status{false, failure.code()};
    send(socket_, encode(EntryNews(wire::TerminalEnded{order->request.id, why, status})));
  }

  void reaped(const Reaped& child) {
    const auto found = ids_.find(child.pid);
    if (found == ids_.end()) return;
    send(socket_, encode(EntryNews(wire::TerminalEnded{found->second, "", child.status})));
    ids_.erase(found);
  }

 private:
  tl::expected<void, StartFailure> start(const BesideOrder& order, const ContainedProgram& program,
                                         const std::vector<UniqueFd>& handed) {
    const wire::OpenTerminal& request = order.request;
    BesideTerminal terminal;
    if (request.is_terminal) {
      auto made = make_beside_terminal({request.columns, request.rows});
      if (!made) return tl::unexpected(made.error());
      terminal = std::move(*made);
    } else {
      if (handed.size() < kStreams) {
        return tl::unexpected(
            StartFailure{StartFailure::Step::resources, EMFILE, "its streams", ""});
      }
      terminal.streams = {duplicate(handed[1].get()), duplicate(handed[2].get()),
                          duplicate(handed[3].get())};
    }
    const auto pid = start_beside(request, program.place(order.defaults), terminal.streams);
    if (!pid) return tl::unexpected(pid.error());
    ids_[*pid] = request.id;
    send(socket_, BesideStarted{request.id, *pid}, terminal.master);
    return {};
  }

  const int socket_;
  std::map<pid_t, std::uint32_t> ids_;  // of those that run
};

/// Handles one demand of the agent. False: everything must end now.
bool obey_agent(int socket, ContainedProgram& program, BesidePrograms& beside) {
  using Kind = EntryDemand::Kind;
  std::vector<UniqueFd> handed;
  const auto packet = receive_packet(socket, kMostEntryBytes, kMostHanded, handed, false);
  if (!packet) return errno == EAGAIN || errno == EINTR;
  const auto demand = decode_demand(*packet);
  if (!demand || demand->kind == Kind::kill) return false;
  if (demand->kind == Kind::signal) program.signal(demand->signal);
  if (demand->kind == Kind::pass) program.pass(demand->signal);
  if (demand->kind == Kind::beside) beside.start(program, handed);
  // getsid(2) of a process whose leader is outside our PID namespace is 0.
  if (demand->kind == Kind::session && demand->leader > 0)
    signal_each(members_of({demand->leader}), demand->signal);
  return true;
}

/// Returns true when the program is over, false when it must be killed.
bool watch(int socket, int signals, ContainedProgram& program) {
  BesidePrograms beside(socket);
  while (!program.is_over()) {
    pollfd watched[] = {{socket, POLLIN, 0}, {signals, POLLIN, 0}};
    (void)::poll(watched, 2, program.more_to_reap() ? 0 : -1);
    while (const int number = read_signal(signals)) {
      // From `podman stop`, or from a runtime that forwards its signals.
      if (number != SIGCHLD) program.signal(number);
    }
    if (program.reap([&](const Reaped& other) { beside.reaped(other); }))
      send(socket, encode(EntryNews(program.status())));
    if (watched[0].revents != 0 && !obey_agent(socket, program, beside)) return false;
  }
  return true;
}

int fail_with(const std::string& what) {
  std::fprintf(stderr, "dlaunch: %s\n", what.c_str());
  return exit_code::kInternal;
}

/// The folder in which the runtime started us; empty if it was removed, which spawn() reports.
std::string started_in() {
  std::array<char, 4096> path{};
  return ::getcwd(path.data(), path.size()) != nullptr ? path.data() : "";
}

/// Explains why the agent sent no order: it accepts only processes of its own user.
int fail_without_order(const std::string& folder) {
  struct stat about {};
  if (::stat(folder.c_str(), &about) == 0 && about.st_uid != ::geteuid())
    return fail_with("this container runs as a different user (" + std::to_string(::geteuid()) +
                     " in here) than the agent (" + std::to_string(about.st_uid) +
                     " in here): rootless docker and docker's userns-remap are not supported");
  return exit_code::kSignalBase + SIGTERM;  // it was stopped before it began
}

}  // namespace

Environment charliecloud_environment(std::string_view text) {
  Environment environment;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    std::string_view value = line.substr(equals + 1);
    if (value.size() >= 2 && value.front() == '\'' && value.back() == '\'')
      value = value.substr(1, value.size() - 2);
    environment.insert_or_assign(std::string(line.substr(0, equals)), std::string(value));
  }
  return environment;
}

int enter_container(const std::string& folder, Rank rank, const std::string& workdir) {
  ensure_standard_descriptors();
  take_all_signals();
  become_subreaper();
  auto signals = open_signal_fd({SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2});
  if (!signals) return fail_with(signals.error().message);
  const auto socket = connect_packets(entry_socket(folder));
  if (!socket || !send(socket->get(), encode(EntryNews(EntryArrived{rank}))))
    return fail_with("the agent of this rank cannot be reached from the container");
  auto handed = fetch_order(socket->get());
  if (!handed) return fail_without_order(folder);
  if (!workdir.empty()) handed->order.workdir = workdir == kImagesOwn ? started_in() : workdir;
  ContainedProgram program(std::move(handed->order), peer_process(socket->get()));
  const auto started = program.start(std::move(handed->descriptors));
  if (!started) {
    send(socket->get(), encode(EntryNews(started.error())));
    return started.error().code();
  }
  send(socket->get(), *started, program.take_terminal());
  const bool ended = watch(socket->get(), signals->get(), program);
  if (!ended && program.kill()) send(socket->get(), encode(EntryNews(program.status())));
  kill_descendants(kCleanupLimit);
  return ended ? program.status().code() : exit_code::kSignalBase + SIGKILL;
}

}  // namespace dlaunch
