// Each message reaches the part of the agent that it is for.
#include <cerrno>
#include <fstream>

#include "agent_conversation.h"
#include "node/reach/program_door.h"
#include "os/content_hash.h"
#include "os/file_hash.h"
#include "sync/pieces.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;

/// Index 0: a file of four bytes.
wire::SyncEntries one_file(std::uint32_t id = 1) {
  return {id, {{"a", SyncEntry::Kind::file, 0644, 4, 1, ""}}, true};
}

void begin_sync(Conversation& agent, std::uint32_t id = 1) {
  agent.greet();
  agent.say(wire::SyncBegin{id, agent.path("job"), "", "laptop"});
  EXPECT_EQ(agent.answer<wire::SyncFolder>().id, id);
}

wire::FactsRequest with_a_port() {
  return {.ports = 1, .network = false};
}

wire::DoorOpen open_door(Conversation& agent, std::uint16_t& port) {
  agent.greet();
  agent.say(with_a_port());
  const auto ports = agent.answer<wire::Facts>().facts.reserved_ports;
  port = ports.empty() ? 0 : ports.front();
  agent.say(wire::OpenDoor{4, {"127.0.0.1"}, false, port, "nonce", "answer", 10000});
  return agent.answer<wire::DoorOpen>();
}

int knock(Conversation& agent, std::uint16_t port) {
  agent.say(wire::Knock{5, {"127.0.0.1"}, port, "nonce", "answer", 10000});
  const wire::Knocked knocked = agent.answer<wire::Knocked>();
  EXPECT_EQ(knocked.id, 5U);
  return knocked.results.empty() ? -1 : knocked.results.front().error;
}

/// One function for each message. A message without one does not compile.
struct EachMessage {
  Conversation agent;

  void of(wire::Hello*) {
    agent.say(wire::Hello{.heartbeat_ms = 20});
    const auto hello = agent.answer<wire::Hello>();
    EXPECT_EQ(hello.protocol, wire::kProtocolVersion);
    EXPECT_NE(hello.build_id, "");
    for (int beats = 0; beats < 3; ++beats) (void)agent.answer<wire::Heartbeat>();
  }
  void of(wire::Heartbeat*) {
    agent.greet();
    agent.say(wire::Heartbeat{.sent = 77});
    while (agent.answer<wire::Heartbeat>().echo != 77 && !testing::Test::HasFailure()) {
    }
  }
  void of(wire::Bye*) {
    agent.greet();
    agent.say(wire::Bye{});
    (void)agent.answer<wire::Bye>();
    EXPECT_EQ(agent.end(), exit_code::kOk);
  }
  void of(wire::FactsRequest*) {
    agent.greet();
    agent.say(wire::FactsRequest{.ports = 2, .attempt = Attempt(5), .network = false});
    const auto facts = agent.answer<wire::Facts>();
    EXPECT_EQ(facts.attempt, Attempt(5));
    EXPECT_EQ(facts.facts.reserved_ports.size(), 2U);
    EXPECT_NE(facts.facts.hostname, "");
  }
  void of(wire::StartRanks*) {
    agent.greet();
    EXPECT_GT(agent.start(agent.script("echo out; exit 3")), 0);
    EXPECT_EQ(agent.output_until("\n"), "out\n");
    const auto exited = agent.answer<wire::RankExited>();
    EXPECT_EQ(exited.status.value, 3);
    EXPECT_FALSE(exited.after_signal);
    (void)agent.answer<wire::AttemptEnded>();
  }
  void of(wire::StopRanks*) {
    agent.greet();
    (void)agent.start(agent.script(kForever));
    agent.say(wire::StopRanks{Attempt(0), SIGTERM});
    const auto exited = agent.answer<wire::RankExited>();
    EXPECT_EQ(exited.status.value, SIGTERM);
    EXPECT_TRUE(exited.after_signal);
    (void)agent.answer<wire::AttemptEnded>();
  }
  void of(wire::KillRanks*) {
    agent.greet();
    wire::StartRanks two = agent.script(kForever);
    two.ranks.emplace_back().rank = Rank(1);
    (void)agent.start(two);
    agent.say(wire::KillRanks{Attempt(0), {Rank(1)}});
    const auto one = agent.answer<wire::RankExited>();
    EXPECT_EQ(one.rank, Rank(1));
    EXPECT_EQ(one.status.value, SIGKILL);
    agent.say(wire::KillRanks{Attempt(0)});
    EXPECT_EQ(agent.answer<wire::RankExited>().rank, Rank(0));
    (void)agent.answer<wire::AttemptEnded>();
  }
  void of(wire::SignalRanks*) {
    agent.greet();
    (void)agent.start(
        agent.script("trap 'exit 5' USR1; echo ready; while true; do sleep 0.01; done"));
    EXPECT_EQ(agent.output_until("\n"), "ready\n");
    agent.say(wire::SignalRanks{Attempt(0), SIGUSR1});
    const auto exited = agent.answer<wire::RankExited>();
    EXPECT_EQ(exited.status.value, 5);
    EXPECT_FALSE(exited.after_signal);
  }
  void of(wire::OutputCredit*) {
    agent.greet();
    wire::StartRanks ranks = agent.script("echo hello");
    ranks.output_credit = 2;
    (void)agent.start(ranks);
    (void)agent.answer<wire::RankExited>();
    EXPECT_EQ(agent.output_until("he"), "he");
    agent.settle();
    EXPECT_EQ(agent.output_until("he"), "he") << "no more was allowed";
    agent.say(wire::OutputCredit{Attempt(0), Rank(0), Stream::out, 6});
    EXPECT_EQ(agent.output_until("\n"), "hello\n");
  }
  void of(wire::StdinData*) {
    agent.greet();
    wire::StartRanks ranks = agent.script("exec cat");
    ranks.ranks.front().wants_stdin = true;
    (void)agent.start(ranks);
    agent.say(wire::StdinData{Attempt(0), "typed\n"});
    EXPECT_EQ(agent.output_until("\n"), "typed\n");
    EXPECT_EQ(agent.answer<wire::StdinTaken>().up_to, 6U);
    agent.say(wire::StdinData{Attempt(0), ""});
    EXPECT_EQ(agent.answer<wire::RankExited>().status, ExitStatus());
  }
  void of(wire::CheckPrerequisites*) {
    agent.greet();
    wire::CheckPrerequisites question;
    question.attempt = Attempt(2);
    question.workdir = "/";
    question.programs.push_back({"no-such-program", "/usr/bin"});
    agent.say(question);
    const auto missing = agent.answer<wire::PrerequisitesMissing>();
    EXPECT_EQ(missing.attempt, Attempt(2));
    ASSERT_EQ(missing.missing.size(), 1U);
    EXPECT_EQ(missing.missing.front().error_number, ENOENT);
  }
  void of(wire::FetchOutput*) {
    agent.greet();
    (void)agent.start(agent.script("echo hello"));
    (void)agent.answer<wire::AttemptEnded>();
    agent.say(wire::FetchOutput{Attempt(0), Rank(0), wire::OutputPart::out, 1, 100});
    const auto fetched = agent.answer<wire::FetchedOutput>();
    EXPECT_EQ(fetched.offset, 1U);
    EXPECT_EQ(fetched.bytes, "ello\n");
  }
  void of(wire::ForgetOutput*) {
    agent.greet();
    agent.say(wire::FactsRequest{.output_name = "run-3", .network = false});
    const std::string folder = agent.answer<wire::Facts>().facts.output_folder;
    wire::StartRanks ranks = agent.script("echo hello");
    ranks.log_folder.clear();
    (void)agent.start(ranks);
    (void)agent.answer<wire::AttemptEnded>();
    EXPECT_FALSE(fs::is_empty(folder));
    agent.say(wire::ForgetOutput{Attempt(0)});
    agent.settle();
    EXPECT_TRUE(fs::is_empty(folder));
  }
  void of(wire::OpenDoor*) {
    std::uint16_t port = 0;
    const wire::DoorOpen open = open_door(agent, port);
    EXPECT_EQ(open.id, 4U);
    EXPECT_EQ(open.errors, std::vector<std::int32_t>{0});
  }
  void of(wire::Knock*) {
    std::uint16_t port = 0;
    (void)open_door(agent, port);
    EXPECT_EQ(knock(agent, port), 0);
  }
  void of(wire::CloseDoor*) {
    std::uint16_t port = 0;
    (void)open_door(agent, port);
    agent.say(wire::CloseDoor{4});
    EXPECT_EQ(knock(agent, port), ECONNREFUSED);
  }
  void of(wire::SyncBegin*) {
    begin_sync(agent);
    EXPECT_TRUE(fs::is_directory(agent.path("job")));
  }
  void of(wire::SyncEntries*) {
    begin_sync(agent);
    agent.say(one_file());
    EXPECT_EQ(agent.answer<wire::SyncWants>().wanted, std::vector<std::uint32_t>{0});
  }
  void of(wire::SyncSettled*) {
    begin_sync(agent);
    agent.say(one_file());
    (void)agent.answer<wire::SyncWants>();
    agent.say(wire::SyncSettled{1, {}, {0}});
    agent.say(wire::SyncEnd{1});
    EXPECT_EQ(agent.answer<wire::SyncDone>().problem, "") << "the content need not come";
  }
  void of(wire::SyncData*) {
    begin_sync(agent);
    agent.say(one_file());
    (void)agent.answer<wire::SyncWants>();
    agent.say(wire::SyncData{1, {{0, 0, "text"}}});
    agent.say(wire::SyncEnd{1});
    EXPECT_EQ(agent.answer<wire::SyncDone>().problem, "");
    std::string content;
    std::ifstream(agent.path("job/a")) >> content;
    EXPECT_EQ(content, "text");
  }
  void of(wire::SyncRemove*) {
    of(static_cast<wire::SyncData*>(nullptr));
    agent.say(wire::SyncBegin{2, agent.path("job"), "", "laptop"});
    agent.say(wire::SyncEntries{2, {}, true});
    while (agent.answer<wire::SyncWants>().gone != std::vector<std::string>{"a"} &&
           !testing::Test::HasFailure()) {
    }
    agent.say(wire::SyncRemove{2, {"a"}});
    agent.say(wire::SyncEnd{2});
    EXPECT_EQ(agent.answer<wire::SyncDone>().removed, 1U);
    EXPECT_FALSE(fs::exists(agent.path("job/a")));
  }
  void of(wire::SyncEnd*) {
    begin_sync(agent);
    agent.say(wire::SyncEntries{1, {}, true});
    agent.say(wire::SyncEnd{1});
    EXPECT_EQ(agent.answer<wire::SyncDone>().id, 1U);
  }
  // One staging, each as far as its message.
  void of(wire::StageBegin*) {
    agent.greet();
    agent.say(wire::StageBegin{1, {"local"}, {}, {}});
    EXPECT_EQ(agent.answer<wire::StageClaimed>().by, "");
    EXPECT_EQ(agent.answer<wire::StageDone>().problem, "local: is not an absolute path");
  }
  void of(wire::StageEntries*) {
    agent.greet();
    agent.say(wire::StageBegin{1, {agent.path("none")}, {}, {"/", "/missing"}});
    agent.say(wire::StageEntries{1, {{0, {"a", SyncEntry::Kind::file, 0644, 4, 1, ""}}}, true});
    EXPECT_EQ(agent.answer<wire::StageWants>().missing, (std::vector<std::uint32_t>{1}));
    EXPECT_FALSE(fs::exists(agent.path("none")));
    agent.say(wire::StageBegin{1, {agent.path("local")}, {}, {"/"}});
    agent.say(wire::StageEntries{1, {{0, {"a", SyncEntry::Kind::file, 0644, 4, 1, ""}}}, true});
    const auto wants = agent.answer<wire::StageWants>();
    EXPECT_EQ(wants.wants, (std::vector<StageWant>{{0, {}}}));
    EXPECT_EQ(wants.looked, 1U);
    EXPECT_TRUE(wants.last);
  }
  void of(wire::StageStream*) {
    of(static_cast<wire::StageEntries*>(nullptr));
    agent.say(wire::StageStream{1, {{0, 1}}, {}, true});
    EXPECT_EQ(agent.answer<wire::StageReady>().id, 1U);
  }
  void of(wire::StageFeed*) {
    of(static_cast<wire::StageStream*>(nullptr));
    agent.say(wire::StageFeed{1, 1, {}, {}, 5000});
    EXPECT_EQ(agent.answer<wire::StageLinked>().problem, "");
  }
  void of(wire::StageData*) {
    of(static_cast<wire::StageFeed*>(nullptr));
    wire::StageData data{1, 1, {}};
    sync::append_piece({0, block_hash("text"), "text"}, data.bytes);
    agent.say(data);
    EXPECT_EQ(agent.answer<wire::StageProgress>().position, 1U);
    EXPECT_FALSE(fs::exists(agent.path("local/a"))) << "its hash is not known";
  }
  void of(wire::StageHashes*) {
    of(static_cast<wire::StageData*>(nullptr));
    FileHasher hasher;
    hasher.add("text");
    const StrongHash hash = hasher.hash();
    agent.say(wire::StageHashes{1, {0}, {hash.begin(), hash.end()}});
    EXPECT_EQ(agent.answer<wire::StageDone>().problem, "");
    EXPECT_TRUE(fs::exists(agent.path("local/a")));
  }
  void of(wire::StageServe*) {
    of(static_cast<wire::StageStream*>(nullptr));
    const std::string key(32, 'k');
    agent.say(wire::StageServe{1, 2, {key, key, key}, {"127.0.0.1", "203.0.113.1"}, 5000});
    const auto listening = agent.answer<wire::StageListening>();
    ASSERT_EQ(listening.at.size(), 1U);
    EXPECT_EQ(listening.at.front().address, "127.0.0.1");
  }
  void of(wire::StageOver*) {
    of(static_cast<wire::StageServe*>(nullptr));
    agent.say(wire::StageOver{1});
    agent.say(wire::StageServe{1, 3, {}, {"127.0.0.1"}, 5000});
    agent.settle();
  }
  // One collecting, likewise.
  void of(wire::CollectBegin*) {
    agent.greet();
    std::ofstream(agent.path("out")) << "text";
    agent.say(wire::CollectBegin{4, {{"/none", "/here"}}, 0});
    EXPECT_EQ(agent.answer<wire::CollectDone>().missing, (std::vector<std::uint32_t>{0}));
    agent.say(wire::CollectBegin{5, {{agent.path("out"), "/here/"}}, 0});
    EXPECT_EQ(agent.answer<wire::StageBegin>().roots, (std::vector<std::string>{"/here"}));
    agent.say(wire::StageClaimed{1, "", ""});
    const auto entries = agent.answer<wire::StageEntries>().entries;
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(entries[0].entry.path, "out");
  }
  void of(wire::StageClaimed*) { of(static_cast<wire::CollectBegin*>(nullptr)); }
  void of(wire::SeeStaged*) {
    agent.greet();
    agent.say(wire::SeeStaged{false, {agent.path("none")}, 20'000});
    const auto seen = agent.answer<wire::StagedSeen>();
    EXPECT_EQ(seen.problem, "");
    EXPECT_TRUE(seen.targets.empty());
  }
  void of(wire::ServeProgram*) {
    agent.greet();
    agent.say(wire::ServeProgram{3, std::string(32, 't'), 5000});
    const auto served = agent.answer<wire::ProgramServed>();
    const char* const login = std::getenv("SSH_CONNECTION");
    EXPECT_EQ(served.id, 3U);
    // It listens only where a login over ssh has reached its machine.
    EXPECT_EQ(served.at.size(), reached_address(login == nullptr ? "" : login).empty() ? 0U : 1U);
  }
  void of(wire::StageWants*) {
    of(static_cast<wire::CollectBegin*>(nullptr));
    agent.say(wire::StageWants{1, {{0, {}}}, {}, 1, true});
    EXPECT_EQ(agent.answer<wire::StageStream>().runs, (std::vector<BlockRun>{{0, 1}}));
  }
  void of(wire::StageReady*) {
    of(static_cast<wire::StageWants*>(nullptr));
    agent.say(wire::StageReady{1});
    EXPECT_TRUE(agent.answer<wire::StageFeed>().at.empty());
  }
  void of(wire::StageLinked*) {
    of(static_cast<wire::StageReady*>(nullptr));
    agent.say(wire::StageLinked{1, 1, 0, ""});
    EXPECT_FALSE(agent.answer<wire::StageData>().bytes.empty());
  }
  void of(wire::StageListening*) {
    of(static_cast<wire::StageLinked*>(nullptr));
    agent.say(wire::StageListening{1, 1, {}});
    agent.settle();
  }
  void of(wire::StageProgress*) {
    of(static_cast<wire::StageLinked*>(nullptr));
    agent.say(wire::StageProgress{1, 1, 1, 20, 1});
    agent.settle();
  }
  void of(wire::StageDone*) {
    of(static_cast<wire::StageProgress*>(nullptr));
    agent.say(wire::StageDone{1, "", 0});
    const auto done = agent.answer<wire::CollectDone>();
    EXPECT_EQ(done.id, 5U);
    EXPECT_EQ(done.problem, "");
    EXPECT_EQ(done.bytes, 4U);
  }
  // One staging from this node, likewise.
  void of(wire::StageFrom*) {
    agent.greet();
    std::ofstream(agent.path("data")) << "text";
    wire::StageFrom order;
    order.id = 5;
    order.self = "gpu1";
    order.items = {{agent.path("data"), "/local/data"}};
    order.peers = {{NodeId(3), "gpu3", true, {"127.0.0.1"}}};
    agent.say(order);
    expect_order<wire::StageBegin>();
  }
  void of(wire::StageLetter*) {
    of(static_cast<wire::StageFrom*>(nullptr));
    say_as_node(wire::StageClaimed{1, "", ""});
    expect_order<wire::StageEntries>();
    say_as_node(wire::StageWants{1, {{0, {}}}, {}, 1, true});
    expect_order<wire::StageStream>();
    say_as_node(wire::StageReady{1});
    const auto feed = expect_order<wire::StageFeed>();
    ASSERT_EQ(feed.at.size(), 1U);
    EXPECT_EQ(feed.at.front().address, "127.0.0.1");
    say_as_node(wire::StageDone{1, "", 0, 0});
    expect_order<wire::StageOver>();
    const auto reported = agent.answer<wire::StageReported>();
    EXPECT_EQ(reported.id, 5U);
    EXPECT_EQ(reported.bytes, 4U);
    agent.say(wire::StageLetter{5, NodeId(3), 9999, "?"});
    agent.say(wire::StageFrom{});
    agent.settle();
  }
  void of(wire::StageLost*) {
    of(static_cast<wire::StageFrom*>(nullptr));
    agent.say(wire::StageLost{5, NodeId(3)});
    EXPECT_EQ(agent.answer<wire::StageReported>().problem, "stage: from gpu1: no node is left");
  }
  template <class Order>
  Order expect_order() {
    const auto letter = agent.answer<wire::StageLetter>();
    EXPECT_EQ(letter.id, 5U);
    EXPECT_EQ(letter.node, NodeId(3));
    const auto message =
        wire::decode<wire::ToAgent>(wire::FrameView{letter.type, 0, 0, 0, letter.payload});
    const auto* const order = message ? std::get_if<Order>(&*message) : nullptr;
    EXPECT_NE(order, nullptr) << wire::type_name(letter.type);
    return order == nullptr ? Order() : *order;
  }
  void say_as_node(const auto& answer) {
    wire::Frame frame = wire::encode(answer);
    agent.say(wire::StageLetter{5, NodeId(3), frame.type, std::move(frame.payload)});
  }
  void of(wire::PreparePmix*) {
    agent.greet();
    agent.say(two_ranks());
    EXPECT_EQ(agent.answer<wire::PmixReady>().refused, "");
  }
  void of(wire::PmixFence*) {
    agent.greet();
    agent.say(two_ranks());
    wire::StartRanks ranks = agent.script(
        "echo cmd=init pmi_version=1 pmi_subversion=1 >&$PMI_FD; read -u $PMI_FD answer\n"
        "echo cmd=barrier_in >&$PMI_FD; read -u $PMI_FD answer; echo \"$answer\"");
    ranks.env["PMI_SIZE"] = "2";
    (void)agent.start(ranks);
    const auto fence = agent.answer<wire::PmixFence>();
    EXPECT_TRUE(fence.pmi1);
    EXPECT_EQ(agent.output_until(""), "") << "rank 1 has not come";
    agent.say(fence);
    EXPECT_EQ(agent.output_until("\n").substr(0, 15), "cmd=barrier_out");
  }
  // Only a rank with a PMIx library could tell more; tests/process has such ranks.
  void of(wire::PmixWanted*) {
    agent.greet();
    agent.say(two_ranks());
    agent.say(wire::PmixWanted{Attempt(0), 7, Rank(0)});
    agent.settle();
  }
  void of(wire::PmixData*) {
    agent.greet();
    agent.say(two_ranks());
    agent.say(wire::PmixData{Attempt(0), 7, 0, "bytes"});
    agent.settle();
  }
  void of(wire::StartMpirun*) {
    agent.greet();
    wire::StartRanks ranks = agent.script(kForever);
    ranks.join_folder = agent.path("own/join-0");
    agent.say(ranks);
    (void)agent.answer<wire::RanksAwaited>();
    agent.say(wire::StartMpirun{Attempt(0), {"bash", "-c", "echo hi; exit 3"}, {}});
    EXPECT_EQ(agent.answer<wire::MpirunOutput>().bytes, "hi\n");
    EXPECT_EQ(agent.answer<wire::MpirunEnded>().status.value, 3);
  }
  void of(wire::Deadline*) {
    agent.greet();
    agent.say(wire::Deadline{Attempt(0), agent.path("deadline"), wall_now()});
    agent.settle();
    EXPECT_TRUE(fs::exists(agent.path("deadline")));
  }
  void of(wire::Inspect*) {
    agent.greet();
    agent.say(wire::Inspect{.folders = {"/"}, .gpus = false, .collectives = false});
    EXPECT_EQ(agent.answer<wire::Inspected>().condition.disks.size(), 1U);
  }
  void of(wire::TakeStacks*) {
    agent.greet();
    (void)agent.start(agent.script(kForever));
    agent.say(
        wire::TakeStacks{.attempt = Attempt(0), .id = 7, .ranks = {Rank(0)}, .limit_ms = 30000});
    const auto taken = agent.answer<wire::StacksTaken>();
    EXPECT_EQ(taken.id, 7U);
    ASSERT_EQ(taken.ranks.size(), 1U) << taken.problem;
    EXPECT_EQ(taken.ranks.front().rank, Rank(0));
  }
  /// The program that is brought says how it was called.
  void of(wire::SeeCheckpoints*) {
    agent.greet();
    wire::StartRanks start = agent.script(kForever);
    start.checkpoints = {"no-such-*"};
    (void)agent.start(std::move(start));
    agent.say(wire::SeeCheckpoints{Attempt(0), 3});
    const auto seen = agent.answer<wire::CheckpointsSeen>();
    EXPECT_EQ(seen.id, 3U);
    EXPECT_TRUE(seen.found.written.empty());
  }
  void of(wire::PySpyData*) {
    agent.greet();
    (void)agent.start(agent.script("cp /bin/sleep python-sleep && exec ./python-sleep 1000"));
    const auto taken = [this] {
      agent.say(
          wire::TakeStacks{.attempt = Attempt(0), .id = 7, .ranks = {Rank(0)}, .limit_ms = 30000});
      auto ranks = agent.answer<wire::StacksTaken>().ranks;
      return ranks.empty() ? RankStacks() : ranks.front();
    };
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (!taken().lacks_py_spy)
      ASSERT_LT(monotonic_now(), end) << "the rank is Python by its name";
    std::ifstream file("/bin/echo", std::ios::binary);
    const std::string program(std::istreambuf_iterator<char>(file), {});
    const std::size_t half = program.size() / 2;
    agent.say(wire::PySpyData{half, program.size(), program.substr(half)});
    EXPECT_EQ(agent.answer<wire::PySpyTaken>().problem, "a piece of it is missing");
    agent.say(wire::PySpyData{half, program.size(), program.substr(half)});  // told already
    agent.say(wire::PySpyData{0, program.size(), program.substr(0, half)});
    EXPECT_EQ(agent.answer<wire::PySpyTaken>().up_to, half);
    EXPECT_TRUE(taken().lacks_py_spy) << "half of it cannot run";
    agent.say(wire::PySpyData{half, program.size(), program.substr(half)});
    EXPECT_EQ(agent.answer<wire::PySpyTaken>(), (wire::PySpyTaken{program.size(), ""}));
    const RankStacks with = taken();
    EXPECT_FALSE(with.lacks_py_spy);
    ASSERT_EQ(with.remarks.size(), 1U);
    EXPECT_NE(with.remarks.front().find(": dump --json --nonblocking --pid"), std::string::npos)
        << with.remarks.front();
  }
  // Those of terminals, which node/terminal has tests for.
  void of(wire::OpenTerminal*) {}
  void of(wire::TerminalInput*) {}
  void of(wire::ResizeTerminal*) {}
  void of(wire::TerminalTaken*) {}
  void of(wire::CloseTerminal*) {}
};

template <class... Messages>
void check_each(std::variant<Messages...>*) {
  const auto check = [](auto* message) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, typeid(*message).name());
    EachMessage().of(message);
  };
  (check(static_cast<Messages*>(nullptr)), ...);
}

TEST(Agent, EachMessageReachesThePartThatItIsFor) {
  check_each(static_cast<wire::ToAgent*>(nullptr));
}

}  // namespace
}  // namespace dlaunch
