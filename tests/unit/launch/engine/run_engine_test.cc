// A whole run in one process: the real engine and supervisor, and as the node's agent a thread at
// the other end of a socket pair, which starts nothing.
#include "launch/engine/run_engine.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include <gmock/gmock.h>
#include <sys/socket.h>

#include "launch/engine/run_job.h"
#include "os/build_id.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/signals.h"

namespace dlaunch {
namespace {

constexpr std::uint64_t kSession = 5;
constexpr EndLimits kLimits{std::chrono::seconds(10), std::chrono::seconds(10)};

/// Imitates an agent whose ranks print "hello" and exit with `codes`, one for each attempt.
class ScriptedAgent {
 public:
  ScriptedAgent(UniqueFd fd, std::vector<int> codes) : codes_(std::move(codes)) {
    UniqueFd write = duplicate(fd.get());
    thread_ = std::thread([this, read = std::move(fd), out = std::move(write)]() mutable {
      channel_.emplace(loop_, std::move(read), std::move(out), 0, kSession);
      channel_->start({[this](const wire::ToAgent& message) {
                         if (const auto* hello = std::get_if<wire::Hello>(&message)) greet(*hello);
                         if (const auto* ask = std::get_if<wire::FactsRequest>(&message))
                           tell(*ask);
                         if (const auto* question = std::get_if<wire::CheckPrerequisites>(&message))
                           channel_->send(wire::PrerequisitesMissing{question->attempt, {}});
                         if (const auto* start = std::get_if<wire::StartRanks>(&message))
                           run(*start);
                         if (std::holds_alternative<wire::Bye>(message)) leave();
                       },
                       [this](const std::string&) { loop_.stop(); }});
      loop_.run();
    });
  }
  ~ScriptedAgent() { thread_.join(); }

 private:
  void greet(const wire::Hello&) {
    wire::Hello hello;
    hello.build_id = own_build_id();
    channel_->send(hello);
  }
  void tell(const wire::FactsRequest& request) {
    wire::Facts facts;
    facts.attempt = request.attempt;
    facts.facts.hostname = "here";
    facts.facts.cores = {{0, {0}, false}, {0, {1}, false}};
    for (std::uint32_t i = 0; i < request.ports; ++i)
      facts.facts.reserved_ports.push_back(static_cast<std::uint16_t>(21000 + i));
    channel_->send(facts);
  }
  void run(const wire::StartRanks& start) {
    const int code = codes_[std::min<std::size_t>(start.attempt.value, codes_.size() - 1)];
    wire::RanksStarted started{start.attempt, {}};
    for (const wire::StartRank& rank : start.ranks)
      started.ranks.push_back({rank.rank, 4711, wall_now()});
    channel_->send(started);
    for (const wire::StartRank& rank : start.ranks) {
      channel_->send(wire::OutputData{start.attempt, rank.rank, Stream::out, 0, "hello\n"});
      for (const Stream stream : {Stream::out, Stream::err})
        channel_->send(
            wire::OutputEnd{start.attempt, rank.rank, stream, stream == Stream::out ? 6U : 0U, 0});
      channel_->send(wire::RankExited{start.attempt, rank.rank, {false, code, false}, wall_now()});
    }
    channel_->send(wire::AttemptEnded{start.attempt, 0});
  }
  void leave() {
    channel_->send(wire::Bye{});
    channel_->close();
    loop_.stop();
  }

  std::vector<int> codes_;
  EventLoop loop_;
  std::optional<AgentChannel> channel_;
  std::thread thread_;
};

class RunEngineTest : public testing::Test {
 protected:
  RunEngineTest() {
    block_signals({SIGPIPE, SIGCHLD});
    options_.current_folder = ::mkdtemp(folder_);
    options_.quiet = options_.plain = true;
    options_.spec.command.argv = {"/bin/true"};
    options_.spec.framework = Framework::none;
    options_.spec.workdir = folder_;
    config_.nodes = {{NodeId(0), "here"}};
    config_.stop_grace = config_.connect_limit = std::chrono::seconds(10);
  }
  ~RunEngineTest() override { std::filesystem::remove_all(folder_); }

  using Loop = std::function<Result<RunReport>(RunEngine&, Supervisor&)>;
  int run(
      std::vector<int> codes, const Loop& loop = [](RunEngine& engine, Supervisor& supervisor) {
        return run_job(engine, supervisor, kLimits);
      }) {
    auto agent_ends = *make_socket_pair(SOCK_STREAM);
    auto front_ends = *make_socket_pair(SOCK_SEQPACKET);
    LocalStart local;
    local.session = kSession;
    local.targets.emplace_back().host.name = "here";
    local.forked.emplace_back(
        Connection{duplicate(agent_ends.first.get()), std::move(agent_ends.first)});
    const ScriptedAgent agent(std::move(agent_ends.second), std::move(codes));
    RunEngine engine(options_, std::move(local), std::move(front_ends.first), HandOver(false));
    EXPECT_TRUE(engine.open_run_folder());
    Supervisor supervisor(config_);
    auto report = loop(engine, supervisor);
    EXPECT_TRUE(report) << report.error().message;
    if (!report) return -1;
    report_ = *report;
    return engine.finish(std::move(*report));
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    for (const auto& run : std::filesystem::directory_iterator(std::string(folder_) + "/runs")) {
      std::ifstream in(run.path() / name, std::ios::binary);
      if (in) return {std::istreambuf_iterator<char>(in), {}};
    }
    return {};
  }

  char folder_[32] = "/tmp/dlaunch-engine-XXXXXX";
  RunOptions options_;
  SupervisorConfig config_;
  RunReport report_;
};

TEST_F(RunEngineTest, ARunThatEndsWell) {
  EXPECT_EQ(run({0}), 0);
  EXPECT_EQ(report_.outcome.cause, Cause::success);
  EXPECT_THAT(file("summary.json"), testing::HasSubstr("\"success\""));
  const std::string events = file("events.jsonl");
  EXPECT_LT(events.find("rank-started"), events.find("rank-exited"));
  EXPECT_NE(events.find("rank-exited"), std::string::npos) << events;
}

TEST_F(RunEngineTest, ARankThatFailsDecidesTheExitCode) {
  EXPECT_EQ(run({7}), 7);
  EXPECT_EQ(report_.outcome.first, Rank(0));
}

TEST_F(RunEngineTest, AFailedAttemptIsFollowedByAnotherOnTheSameSession) {
  config_.restart.max = 1;
  config_.restart.backoff_min = std::chrono::milliseconds(1);
  EXPECT_EQ(run({7, 0}), 0);
  EXPECT_EQ(report_.attempt, Attempt(1));
  ASSERT_EQ(report_.earlier.size(), 1U);
}

TEST_F(RunEngineTest, APlanThatComesTooLateBeginsNoAttempt) {
  const auto cancel_before_the_plan = [](RunEngine& engine,
                                         Supervisor& supervisor) -> Result<RunReport> {
    std::vector<Action> actions = supervisor.start(engine.now());
    while (!supervisor.done()) {
      for (const Action& action : actions) (void)engine.perform(action);
      const auto event = engine.wait(supervisor.deadline());
      if (!event) return tl::unexpected(event.error());
      const bool is_plan = std::holds_alternative<event::PlanMade>(*event);
      actions = supervisor.on(is_plan ? Event(event::CancelSignal{SIGINT}) : *event, engine.now());
      engine.tell(*event);
    }
    return std::get<action::Finish>(actions.back()).report;
  };
  EXPECT_EQ(run({0}, cancel_before_the_plan), 130);
  EXPECT_THAT(file("events.jsonl"), testing::HasSubstr("plan-made"));
  EXPECT_EQ(file("plan.json"), "");
  EXPECT_THAT(file("summary.json"), testing::HasSubstr("\"run\": null"));
}

}  // namespace
}  // namespace dlaunch
