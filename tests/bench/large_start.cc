// What a very large job costs the launcher: the real engine, supervisor, sessions and wire code,
// with agents that another process simulates over socket pairs. They answer at once, so only the
// launcher's CPU time matters; that of the agents is not counted.
//
// The bytes are the growth of the launcher's resident memory from the moment before it knows its
// nodes until all ranks run and each node has sent a pulse; "at most" is the maximum until then.
//
//   large_start [NODES [RANKS_PER_NODE]]     default: 16384 nodes x 8, and a quarter of it; needs
//                                            an open file for each node (ulimit -n)
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/engine/run_engine.h"
#include "launch/engine/run_job.h"
#include "model/ip_address.h"
#include "os/build_id.h"
#include "os/channel.h"
#include "os/clock.h"
#include "os/event_loop.h"
#include "supervise/supervisor.h"

namespace dlaunch {
namespace {

constexpr std::uint64_t kSession = 0x6c61726765;
constexpr std::size_t kAgentsOfAProcess = 512;  // because of the limit on open files
constexpr std::chrono::seconds kPulse{1};       // watch.interval
// How long after the last rank's start the memory is measured: the start's own memory is free
// again, and the pulses have arrived.
constexpr std::chrono::seconds kSettled{3};
constexpr std::chrono::seconds kRanksLive{20};  // longer than any start here and kSettled together

struct Size {
  std::uint32_t nodes = 0;
  std::uint32_t per_node = 0;
};

struct Cost {
  double start_s = 0;  // CPU, to the news of the last rank's start
  double total_s = 0;  // CPU, to the end of the run
  double start_wall_s = 0;
  double bytes_per_rank = 0;  // resident, when all ranks run
  double most_per_rank = 0;   // until then
  int exit_code = -1;
};

std::string name_of(std::uint32_t node) {
  std::string number = std::to_string(node);
  return "gpu" + std::string(5 - number.size(), '0') + number;
}

std::string address_of(std::uint32_t node) {
  return "10." + std::to_string(node / 65536) + '.' + std::to_string(node / 256 % 256) + '.' +
         std::to_string(node % 256);
}

/// One node's agent. It answers every question as a healthy node does, and its ranks succeed after
/// kRanksLive.
class SimulatedAgent {
 public:
  SimulatedAgent(EventLoop& loop, const UniqueFd& socket, std::uint32_t node, std::uint32_t& open)
      : node_(node),
        open_(open),
        channel_(loop, UniqueFd(::dup(socket.get())), {}, node, kSession),
        pulse_(loop),
        end_(loop) {
    channel_.start(
        {.on_message =
             [this](wire::ToAgent message) { std::visit([this](auto& one) { on(one); }, message); },
         .on_end =
             [this](const std::string& why) {
               if (!why.empty()) std::fprintf(stderr, "agent: %s\n", why.c_str());
               closed();
             }});
  }

 private:
  void on(wire::Hello&) {
    wire::Hello hello;
    hello.build_id = own_build_id();
    channel_.send(hello);
  }
  void on(wire::Heartbeat& beat) {
    wire::Heartbeat echo;
    echo.sent = 1;
    echo.echo = beat.sent;
    channel_.send(echo);
  }
  void on(wire::FactsRequest& request) {
    wire::Facts answer;
    answer.attempt = request.attempt;
    NodeFacts& facts = answer.facts;
    facts.hostname = name_of(node_);
    facts.architecture = "x86_64";
    facts.kernel = "6.1.0";
    facts.memory_bytes = facts.memory_available_bytes = std::uint64_t{1} << 40;
    for (int core = 0; core < 32; ++core) facts.cores.push_back({core / 16, {core, core + 32}});
    for (std::uint32_t port = 0; port < request.ports; ++port)
      facts.reserved_ports.push_back(static_cast<std::uint16_t>(20000 + port));
    facts.output_folder = "/var/tmp/dlaunch-1000/run";
    NetworkInterface eth;
    eth.name = "eth0";
    eth.kind = NetworkInterface::Kind::physical;
    eth.is_up = true;
    eth.speed_mbit = 100000;
    eth.addresses = {{address_of(node_), 8}};
    facts.interfaces = {eth};
    facts.machine = name_of(node_);
    facts.environment = {{"PATH", "/usr/bin:/bin"}};
    channel_.send(answer);
  }
  void on(wire::OpenDoor& door) {
    channel_.send(wire::DoorOpen{door.id, std::vector<std::int32_t>(door.addresses.size(), 0)});
  }
  void on(wire::Knock& knock) {
    wire::Knocked answer{knock.id, {}};
    for (std::uint32_t i = 0; i < knock.addresses.size(); ++i)
      answer.results.push_back({i, 0, 100, address_of(node_), "eth0"});
    channel_.send(answer);
  }
  void on(wire::CheckPrerequisites& check) {
    wire::PrerequisitesMissing answer;
    answer.attempt = check.attempt;
    answer.found.resize(check.lookups.size());
    channel_.send(answer);
  }
  void on(wire::StartRanks& start) {
    wire::RanksStarted started{start.attempt, {}};
    for (const wire::StartRank& rank : start.ranks) {
      ranks_.push_back(rank.rank);
      started.ranks.push_back({rank.rank, 4711, wall_now()});
    }
    channel_.send(started);
    if (!start.last) return;
    pulse_.after(kPulse, [this, attempt = start.attempt] { send_pulse(attempt); });
    end_.after(kRanksLive, [this, attempt = start.attempt] { end_ranks(attempt); });
  }
  void on(wire::Bye&) {
    channel_.send(wire::Bye());
    channel_.close();
    closed();
  }
  void on(auto&) {}

  void send_pulse(Attempt attempt) {
    wire::Pulse pulse{attempt, wall_now(), {}, {}};
    pulse.node.cpu_percent = 3200;
    pulse.node.cores = 64;
    pulse.node.memory_available = std::uint64_t{1} << 39;
    for (const Rank rank : ranks_) {
      RankPulse& one = pulse.ranks.emplace_back();
      one.rank = rank;
      one.output = 4096;
      one.cpu_ms = 900;
      one.memory = std::uint64_t{1} << 34;
      one.processes = 5;
      one.state = "R";
      one.last_line = "epoch 1 step 100 loss 2.3026 lr 0.001 1.02 s/step";
    }
    channel_.send(pulse);
  }
  void end_ranks(Attempt attempt) {
    for (const Rank rank : ranks_) {
      channel_.send(wire::OutputEnd{attempt, rank, Stream::out});
      channel_.send(wire::OutputEnd{attempt, rank, Stream::err});
      channel_.send(wire::RankExited{attempt, rank, {}, wall_now()});
    }
    channel_.send(wire::AttemptEnded{attempt});
  }
  void closed() {
    if (std::exchange(is_open_, false)) --open_;
  }

  std::uint32_t node_;
  std::uint32_t& open_;
  bool is_open_ = true;
  AgentChannel channel_;
  Timer pulse_;
  Timer end_;
  std::vector<Rank> ranks_;
};

[[noreturn]] void be_agents(std::vector<UniqueFd> sockets, std::uint32_t first) {
  EventLoop loop;
  auto open = static_cast<std::uint32_t>(sockets.size());
  std::vector<std::unique_ptr<SimulatedAgent>> agents;
  for (std::uint32_t i = 0; i < sockets.size(); ++i) {
    agents.push_back(std::make_unique<SimulatedAgent>(loop, sockets[i], first + i, open));
    sockets[i].reset();
  }
  while (open > 0) loop.run_one();
  ::_exit(0);
}

/// Forks a process for the agents of the last nodes before `end`, whose ends of the sockets are
/// `theirs`.
void begin_agents(LocalStart& local, std::vector<UniqueFd>& theirs, std::uint32_t end) {
  if (::fork() == 0) {
    local = {};
    const auto first = end - static_cast<std::uint32_t>(theirs.size());
    be_agents(std::move(theirs), first);
  }
  theirs.clear();
}

/// Passes everything on. Calls on_started when the last rank has started, and on_settled kSettled
/// later.
class MeasuredEngine : public Engine {
 public:
  MeasuredEngine(RunEngine& engine, std::size_t ranks) : engine_(engine), missing_(ranks) {}
  [[nodiscard]] Result<Event> wait(std::optional<MonotonicTime> deadline) override {
    if (settled_at_ && now() >= *settled_at_) {
      settled_at_.reset();
      on_settled();
    }
    if (!settled_at_) return engine_.wait(deadline);
    return engine_.wait(std::min(*settled_at_, deadline.value_or(*settled_at_)));
  }
  void tell(const Event& event) override {
    engine_.tell(event);
    if (!std::holds_alternative<event::RankStarted>(event) || --missing_ > 0) return;
    settled_at_ = now() + kSettled;
    on_started();
  }
  [[nodiscard]] Status perform(const Action& action) override { return engine_.perform(action); }
  [[nodiscard]] MonotonicTime now() const override { return engine_.now(); }

  std::function<void()> on_started = [] {};
  std::function<void()> on_settled = [] {};

 private:
  RunEngine& engine_;
  std::size_t missing_;
  std::optional<MonotonicTime> settled_at_;
};

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double size = 0;
  double resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double most_resident_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

RunOptions options_for(Size size, const std::string& folder) {
  RunOptions options;
  JobSpec& spec = options.spec;
  spec.name = "large";
  spec.command.argv = {"python3", "train.py"};
  spec.workdir = options.current_folder = folder;
  spec.processes_per_node = {ProcessesPerNode::Kind::count, static_cast<int>(size.per_node)};
  spec.timeouts.connect = std::chrono::minutes(5);
  spec.timeouts.lost_after = spec.timeouts.fence_after = std::chrono::minutes(5);
  spec.active_env = ActiveEnv::optional;
  spec.logs.console = Logs::Console::none;
  for (std::uint32_t i = 0; i < size.nodes; ++i) spec.hosts.hosts.emplace_back().name = name_of(i);
  options.environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", folder}};
  options.quiet = true;
  options.verbosity = std::getenv("LARGE_VERBOSE") != nullptr ? 2 : 0;
  return options;
}

Cost measure(Size size, const std::string& folder) {
  const double before = resident_bytes();
  const RunOptions options = options_for(size, folder);
  LocalStart local;
  local.session = kSession;
  std::vector<UniqueFd> theirs;
  for (std::uint32_t i = 0; i < size.nodes; ++i) {
    if (theirs.size() == kAgentsOfAProcess) begin_agents(local, theirs, i);
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      std::perror("socketpair");
      std::exit(1);
    }
    local.targets.push_back({options.spec.hosts.hosts[i], find_connector(Connect::Via::ssh)});
    Connection& connection = local.forked.emplace_back(Connection()).value();
    connection.read = UniqueFd(ends[0]);
    theirs.emplace_back(ends[1]);
  }
  begin_agents(local, theirs, size.nodes);

  SupervisorConfig config;
  config.nodes.clear();
  for (std::uint32_t i = 0; i < size.nodes; ++i) config.nodes.emplace(NodeId(i), name_of(i));
  config.stop_grace = std::chrono::seconds(30);
  config.connect_limit = options.spec.timeouts.connect;
  std::array<int, 2> front{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, front.data()) != 0) std::exit(1);

  Cost cost;
  const double cpu = processor_seconds();
  const MonotonicTime began = monotonic_now();
  RunEngine engine(options, std::move(local), UniqueFd(front[0]), HandOver(false));
  if (!engine.open_run_folder()) std::exit(1);
  Supervisor supervisor(config);
  MeasuredEngine measured(engine, std::size_t{size.nodes} * size.per_node);
  measured.on_started = [&] {
    cost.start_s = processor_seconds() - cpu;
    cost.start_wall_s = std::chrono::duration<double>(monotonic_now() - began).count();
  };
  measured.on_settled = [&] {
    cost.bytes_per_rank = (resident_bytes() - before) / size.nodes / size.per_node;
    cost.most_per_rank = (most_resident_bytes() - before) / size.nodes / size.per_node;
  };
  const Result<RunReport> report =
      run_job(measured, supervisor, {config.stop_grace, config.end_limit});
  if (report) cost.exit_code = engine.finish(*report);
  cost.total_s = processor_seconds() - cpu;
  return cost;
}

/// Measures in a separate process, whose memory nothing else uses.
Cost measure_apart(Size size) {
  void* const page =
      ::mmap(nullptr, sizeof(Cost), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const cost = new (page) Cost;
  std::string folder = std::filesystem::temp_directory_path() / "dlaunch-large-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) std::exit(1);
  const pid_t child = ::fork();
  if (child == 0) {
    *cost = measure(size, folder);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) std::printf("the launcher ended with wait status %d\n", status);
  std::filesystem::remove_all(folder);
  return *cost;
}

int run(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);  // like main() of dlaunch
  Size size{16384, 8};
  if (argc > 1) size.nodes = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  if (argc > 2) size.per_node = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  // One for each node, and three for each agent of the next process.
  const rlim_t wanted = size.nodes + 3 * kAgentsOfAProcess + 100;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files = {wanted, std::max(wanted, files.rlim_max)};
  if (::setrlimit(RLIMIT_NOFILE, &files) != 0) {
    std::fprintf(stderr, "large_start: %lu open files are needed: %s\n", wanted,
                 std::strerror(errno));
    return 1;
  }
  std::printf(
      "| | start, CPU s | start, s | whole run, CPU s | bytes a rank | at most | us a rank |\n");
  std::printf("|---|---:|---:|---:|---:|---:|---:|\n");
  int failed = 0;
  for (const Size one : {Size{size.nodes / 4, size.per_node}, size}) {
    const Cost cost = measure_apart(one);
    const std::uint32_t ranks = one.nodes * one.per_node;
    std::printf("| %u nodes, %u ranks | %.2f | %.2f | %.2f | %.0f | %.0f | %.1f |\n", one.nodes,
                ranks, cost.start_s, cost.start_wall_s, cost.total_s, cost.bytes_per_rank,
                cost.most_per_rank, cost.start_s / ranks * 1e6);
    std::fflush(stdout);
    if (cost.exit_code != 0) failed = 1;
  }
  if (failed != 0) std::printf("FAILED: a run did not end well\n");
  return failed;
}

}  // namespace
}  // namespace dlaunch

int main(int argc, char** argv) {
  return dlaunch::run(argc, argv);
}
