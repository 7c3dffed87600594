// Nodes that a run cannot use: the real engine and supervisor, and as agents the other ends of
// socket pairs, all on one thread, which start nothing.
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <sys/socket.h>

#include "launch/engine/run_engine.h"
#include "launch/engine/run_job.h"
#include "os/build_id.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/signals.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kOneSession = 5;

/// Agents whose ranks exit at once: with 7 in the first attempt, and later with 0.
class ScriptedNodes {
 public:
  /// True: the message is dealt with, else the agent does the usual.
  using Script = std::function<bool(ScriptedNodes&, std::uint32_t, const wire::ToAgent&)>;

  ScriptedNodes(std::vector<UniqueFd> fds, Script script)
      : script_(std::move(script)), open_(fds.size()) {
    thread_ = std::thread([this, ends = std::move(fds)]() mutable {
      for (std::uint32_t node = 0; node < ends.size(); ++node) {
        UniqueFd write = duplicate(ends[node].get());
        channels_.push_back(std::make_unique<AgentChannel>(loop_, std::move(ends[node]),
                                                           std::move(write), node, kOneSession));
        channels_[node]->start({[this, node](const wire::ToAgent& message) {
                                  if (!script_(*this, node, message))
                                    std::visit([&](const auto& one) { on(node, one); }, message);
                                },
                                [this, node](const std::string&) { leave(node); }});
      }
      loop_.run();
    });
  }
  ~ScriptedNodes() { thread_.join(); }

  void send(std::uint32_t node, const wire::FromAgent& message) { channels_[node]->send(message); }
  void start(std::uint32_t node, const wire::StartRanks& start) {
    wire::RanksStarted started{start.attempt, {}};
    for (const wire::StartRank& rank : start.ranks)
      started.ranks.push_back({rank.rank, 4711, wall_now()});
    send(node, started);
  }
  void end_rank(std::uint32_t node, Attempt attempt, Rank rank, int code) {
    for (const Stream stream : {Stream::out, Stream::err})
      send(node, wire::OutputEnd{attempt, rank, stream, 0, 0});
    send(node, wire::RankExited{attempt, rank, {false, code, false}, wall_now()});
  }
  void leave(std::uint32_t node) {
    if (!channels_[node]) return;
    send(node, wire::Bye{});
    channels_[node]->close();
    loop_.post([this, node] {
      channels_[node].reset();
      if (--open_ == 0) loop_.stop();
    });
  }
  void leave_after(std::uint32_t node, Duration pause) {
    timer_.after(pause, [this, node] { leave(node); });
  }

 private:
  void on(std::uint32_t node, const wire::Hello&) {
    wire::Hello hello;
    hello.build_id = own_build_id();
    send(node, hello);
  }
  /// The first node has a GPU, the others have none.
  void on(std::uint32_t node, const wire::FactsRequest& request) {
    wire::Facts facts;
    facts.attempt = request.attempt;
    facts.facts.hostname = "node" + std::to_string(node + 1);
    facts.facts.cores = {{0, {0}, false}, {0, {1}, false}};
    if (node == 0) facts.facts.gpus.emplace_back();
    for (std::uint32_t i = 0; i < request.ports; ++i)
      facts.facts.reserved_ports.push_back(static_cast<std::uint16_t>(21000 + i));
    send(node, facts);
  }
  void on(std::uint32_t node, const wire::CheckPrerequisites& question) {
    send(node, wire::PrerequisitesMissing{question.attempt, {}});
  }
  void on(std::uint32_t node, const wire::StartRanks& message) {
    start(node, message);
    for (const wire::StartRank& rank : message.ranks)
      end_rank(node, message.attempt, rank.rank, message.attempt == Attempt(0) ? 7 : 0);
    send(node, wire::AttemptEnded{message.attempt, 0});
  }
  void on(std::uint32_t node, const wire::FetchOutput& wanted) {
    send(node, wire::FetchedOutput{wanted.attempt, wanted.rank, wanted.part, wanted.offset, ""});
  }
  void on(std::uint32_t node, const wire::Bye&) { leave(node); }
  template <class Message>
  void on(std::uint32_t, const Message&) {}

  Script script_;
  std::size_t open_;
  EventLoop loop_;
  Timer timer_{loop_};
  std::vector<std::unique_ptr<AgentChannel>> channels_;
  std::thread thread_;
};

class RunEngineNodesTest : public testing::Test {
 protected:
  RunEngineNodesTest() {
    block_signals({SIGPIPE, SIGCHLD});
    options_.current_folder = ::mkdtemp(folder_);
    options_.quiet = options_.plain = true;
    options_.spec.command.argv = {"/bin/true"};
    options_.spec.framework = Framework::none;
    options_.spec.workdir = folder_;
    options_.spec.restart.max = config_.restart.max = 1;
    options_.spec.connect.via = Connect::Via::command;
    options_.spec.connect.command = {"/bin/false"};
    config_.restart.backoff_min = std::chrono::milliseconds(1);
    config_.nodes = {{NodeId(0), "node1"}, {NodeId(1), "node2"}};
    config_.stop_grace = config_.connect_limit = std::chrono::seconds(10);
    config_.return_limit = std::chrono::milliseconds(100);
    use_nodes(1, 1);
  }
  ~RunEngineNodesTest() override { std::filesystem::remove_all(folder_); }

  void use_nodes(int min, int max) {
    options_.spec.nodes = NodeRange{min, max};
    options_.spec.spares = max == 1 ? 1 : 0;
    config_.nodes_needed = static_cast<std::uint32_t>(min);
    config_.nodes_wanted = static_cast<std::uint32_t>(max);
  }
  int run(ScriptedNodes::Script script) {
    LocalStart local;
    local.session = kOneSession;
    std::vector<UniqueFd> others;
    for (const auto& [node, name] : config_.nodes) {
      auto ends = *make_socket_pair(SOCK_STREAM);
      NodeTarget& target = local.targets.emplace_back();
      target.host.name = name;
      target.connector = find_connector("command");
      local.forked.emplace_back(Connection{duplicate(ends.first.get()), std::move(ends.first)});
      others.push_back(std::move(ends.second));
    }
    const ScriptedNodes nodes(std::move(others), std::move(script));
    auto front_ends = *make_socket_pair(SOCK_SEQPACKET);
    RunEngine engine(options_, std::move(local), std::move(front_ends.first), HandOver(false));
    EXPECT_TRUE(engine.open_run_folder());
    Supervisor supervisor(config_);
    auto report = run_job(engine, supervisor, {std::chrono::seconds(10), std::chrono::seconds(10)});
    EXPECT_TRUE(report) << report.error().message;
    return report ? engine.finish(std::move(*report)) : -1;
  }
  [[nodiscard]] std::string events() const {
    for (const auto& run : std::filesystem::directory_iterator(std::string(folder_) + "/runs")) {
      std::ifstream in(run.path() / "events.jsonl", std::ios::binary);
      if (in) return {std::istreambuf_iterator<char>(in), {}};
    }
    return {};
  }
  [[nodiscard]] wire::PrerequisitesMissing no_workdir(Attempt attempt) const {
    return {attempt, {{StartFailure::Step::workdir, ENOENT, folder_, ""}}};
  }

  char folder_[32] = "/tmp/dlaunch-engine-XXXXXX";
  RunOptions options_;
  SupervisorConfig config_;
};

TEST_F(RunEngineNodesTest, ASpareThatFailsItsCheckWhileRanksAreStopped) {
  options_.spec.processes_per_node = {ProcessesPerNode::Kind::count, 2};
  const auto script = [this](ScriptedNodes& nodes, std::uint32_t node,
                             const wire::ToAgent& message) {
    if (const auto* start = std::get_if<wire::StartRanks>(&message)) {
      if (start->attempt != Attempt(0)) return false;
      nodes.start(node, *start);
      return true;
    }
    if (node == 1 && std::holds_alternative<wire::CheckPrerequisites>(message)) {
      nodes.end_rank(0, Attempt(0), Rank(0), 7);
      return true;
    }
    if (!std::holds_alternative<wire::StopRanks>(message)) return false;
    nodes.send(1, no_workdir(Attempt(0)));
    nodes.end_rank(0, Attempt(0), Rank(1), 1);
    nodes.send(0, wire::AttemptEnded{Attempt(0), 0});
    return true;
  };
  EXPECT_EQ(run(script), 0);
  EXPECT_THAT(events(), HasSubstr("node2, a spare, cannot be used: cannot enter the workdir"));
}

TEST_F(RunEngineNodesTest, NoSpareIsCheckedWhenTheRunIsOver) {
  options_.spec.processes_per_node = {ProcessesPerNode::Kind::gpu, 0};
  const auto script = [](ScriptedNodes& nodes, std::uint32_t node, const wire::ToAgent& message) {
    if (node == 0 || !std::holds_alternative<wire::Bye>(message)) return false;
    nodes.leave_after(node, std::chrono::milliseconds(1500));  // the run is not over before
    return true;
  };
  EXPECT_EQ(run(script), 0);
  EXPECT_THAT(events(), Not(HasSubstr("node-lost"))) << "it lacks a GPU";
}

TEST_F(RunEngineNodesTest, WhereNoNodeTakesItsPlaceTheAdviceIsPrinted) {
  use_nodes(2, 3);
  options_.spec.processes_per_node = {ProcessesPerNode::Kind::count, 1};
  const auto script = [this](ScriptedNodes& nodes, std::uint32_t node,
                             const wire::ToAgent& message) {
    const auto* question = std::get_if<wire::CheckPrerequisites>(&message);
    if (node == 0 || question == nullptr || question->attempt == Attempt(0)) return false;
    nodes.send(node, no_workdir(question->attempt));
    return true;
  };
  EXPECT_EQ(run(script), exit_code::kNodeLost);
  EXPECT_THAT(events(), HasSubstr("node2 cannot be used: cannot enter the workdir"));
  EXPECT_THAT(events(), HasSubstr("try: --sync, which copies it there first"));
}

}  // namespace
}  // namespace dlaunch
