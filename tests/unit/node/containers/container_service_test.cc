// ContainerService with the test in the role of the first process of a container.
#include "node/containers/container_service.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/containers/container_folder.h"
#include "os/clock.h"
#include "os/containment.h"
#include "os/packet.h"
#include "os/signals.h"

namespace dlaunch {
namespace {

constexpr std::chrono::seconds kLimit{20};

class ContainerServiceTest : public testing::Test {
 protected:
  ContainerServiceTest() {
    block_signals({SIGCHLD, SIGPIPE});
    EXPECT_NE(::mkdtemp(base_), nullptr);
    service_.set_callbacks(
        {[this](Rank rank, pid_t pid, const UniqueFd&) {
           note("started", rank, std::to_string(pid));
         },
         [this](Rank rank, const StartFailure& failure) { note("failed", rank, failure.path); },
         [this](Rank rank, const ExitStatus& status) { note("ended", rank, describe(status)); },
         [this](Rank rank) { note("left", rank, ""); },
         [this](Rank rank, const BesideStarted& started, const UniqueFd& terminal) {
           note(terminal ? "terminal" : "beside", rank, std::to_string(started.pid));
         },
         [this](Rank, const wire::TerminalEnded& ended) {
           events_.push_back("ended " + ended.problem);
         }});
  }
  ~ContainerServiceTest() override {
    service_.end();
    std::filesystem::remove_all(base_);
  }

  void note(const std::string& what, Rank rank, const std::string& more) {
    events_.push_back(what + ' ' + std::to_string(rank.value) + (more.empty() ? "" : ' ' + more));
  }
  [[nodiscard]] std::string folder() const { return std::string(base_) + "/dlaunch-enter-1"; }
  [[nodiscard]] std::string engine() const { return std::string(base_) + "/engine"; }

  [[nodiscard]] wire::StartRanks part(std::uint32_t rank = 3) const {
    wire::StartRanks start;
    start.entry_folder = folder();
    wire::StartContainer& container = start.containers.emplace_back();
    container.argv = {"podman", "run", "--name=dlaunch-x-", "image"};
    container.named = 2;
    container.name = "dlaunch-x-";
    container.cleanup = {engine(), "rm", "--force"};
    start.ranks.emplace_back().rank = Rank(rank);
    start.ranks.back().container = 1;
    return start;
  }
  static EntryOrder order() {
    EntryOrder order;
    order.argv = {"train", "--fast"};
    return order;
  }
  static std::vector<UniqueFd> streams() {
    std::vector<UniqueFd> three;
    for (int i = 0; i < 3; ++i) three.emplace_back(duplicate(STDERR_FILENO));
    return three;
  }

  UniqueFd connect() {
    auto socket = connect_packets(entry_socket(folder()));
    EXPECT_TRUE(socket);
    return socket ? std::move(*socket) : UniqueFd();
  }
  /// The connection of the rank's first process after it received its order.
  UniqueFd enter(std::uint32_t rank) {
    EXPECT_TRUE(service_.expect(Rank(rank), order(), streams()));
    UniqueFd socket = connect();
    say(socket, EntryArrived{Rank(rank)});
    run_until([&] { return service_.is_in(Rank(rank)); });
    std::vector<UniqueFd> handed;
    EXPECT_TRUE(receive_packet(socket.get(), kMostEntryBytes, 5, handed, true));
    return socket;
  }
  static void say(const UniqueFd& socket, const EntryNews& news) {
    EXPECT_TRUE(send_packet(socket.get(), encode(news)));
  }
  static std::optional<EntryDemand> demand_on(const UniqueFd& socket) {
    std::vector<UniqueFd> ignored;
    const auto packet = receive_packet(socket.get(), kMostEntryBytes, 5, ignored, true);
    return packet ? decode_demand(*packet) : std::nullopt;
  }
  static bool is_closed(const UniqueFd& socket) {
    char byte = 0;
    return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }

  template <class Condition>
  void run_until(const Condition& condition) {
    const MonotonicTime end = monotonic_now() + kLimit;
    while (!condition() && loop_.run_one(end)) {
    }
    EXPECT_TRUE(condition());
  }

  char base_[32] = "/tmp/dlaunch-test-XXXXXX";
  EventLoop loop_;
  Progress progress_;
  ContainerService service_{loop_, progress_};
  std::vector<std::string> events_;
};

TEST_F(ContainerServiceTest, TheRuntimesCommandLineNamesTheRank) {
  const auto start = part();
  EXPECT_EQ(ContainerService::command(start.containers.front(), Rank(7)),
            (std::vector<std::string>{"podman", "run", "--name=dlaunch-x-7", "image", "7"}));
}

TEST_F(ContainerServiceTest, WithoutContainersThereIsNoFolder) {
  wire::StartRanks start = part();
  start.containers.clear();
  EXPECT_TRUE(service_.begin(start));
  EXPECT_FALSE(std::filesystem::exists(folder()));
  EXPECT_FALSE(service_.needs_clearing());
}

TEST_F(ContainerServiceTest, TheFolderLastsAsLongAsTheAttempt) {
  ASSERT_TRUE(service_.begin(part()));
  ASSERT_TRUE(service_.begin(part(4))) << "a second part of the same attempt";
  EXPECT_EQ(progress_.entry_folder.data(), folder()) << "for the guardian";
  EXPECT_TRUE(std::filesystem::exists(folder() + "/cleanup"));
  service_.end();
  EXPECT_FALSE(std::filesystem::exists(folder()));
  EXPECT_EQ(progress_.entry_folder.front(), '\0');
}

TEST_F(ContainerServiceTest, TheFolderOfALivingAgentIsNotUsed) {
  const auto other = make_entry_folder(folder());
  ASSERT_TRUE(other);
  const auto begun = service_.begin(part());
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().error_number, EEXIST);
  EXPECT_EQ(begun.error().path, folder());
}

TEST_F(ContainerServiceTest, TheFirstProcessGetsItsOrderAndItsStreams) {
  ASSERT_TRUE(service_.begin(part()));
  ASSERT_TRUE(service_.expect(Rank(3), order(), streams()));
  const UniqueFd socket = connect();
  say(socket, EntryArrived{Rank(3)});
  run_until([&] { return service_.is_in(Rank(3)); });
  std::vector<UniqueFd> handed;
  const auto packet = receive_packet(socket.get(), kMostEntryBytes, 5, handed, true);
  ASSERT_TRUE(packet);
  EXPECT_EQ(decode_demand(*packet), EntryDemand{});
  ASSERT_EQ(handed.size(), 4U) << "the order, stdin, stdout, stderr";
  char bytes[4096];
  const ssize_t size = ::pread(handed.front().get(), bytes, sizeof bytes, 0);
  ASSERT_GT(size, 0);
  EXPECT_EQ(decode_order({bytes, static_cast<std::size_t>(size)}), order());
}

TEST_F(ContainerServiceTest, UnexpectedProcessesGetNothing) {
  ASSERT_TRUE(service_.begin(part()));
  ASSERT_TRUE(service_.expect(Rank(3), order(), streams()));
  ASSERT_TRUE(service_.expect(Rank(4), order(), streams()));
  service_.refuse(Rank(4));
  for (const std::string& text : {encode(EntryNews(EntryArrived{Rank(9)})),
                                  encode(EntryNews(EntryArrived{Rank(4)})),
                                  encode(EntryNews(EntryStarted{1})), std::string("hello")}) {
    const UniqueFd socket = connect();
    EXPECT_TRUE(send_packet(socket.get(), text));
    run_until([&] { return is_closed(socket); });
  }
  const UniqueFd second = enter(3);
  const UniqueFd again = connect();
  say(again, EntryArrived{Rank(3)});
  run_until([&] { return is_closed(again); });
  EXPECT_TRUE(service_.is_in(Rank(3))) << "an order is given once";
  EXPECT_TRUE(events_.empty());
}

TEST_F(ContainerServiceTest, NewsBecomeCallbacksInTheirOrder) {
  ASSERT_TRUE(service_.begin(part()));
  UniqueFd socket = enter(3);
  say(socket, EntryStarted{4711});
  say(socket, ExitStatus{false, 2, false});
  run_until([&] { return events_.size() == 2; });
  socket.reset();
  run_until([&] { return events_.size() == 3; });
  // There is no process with that number below the first one, which stands for it: ourselves.
  EXPECT_EQ(events_, (std::vector<std::string>{"started 3 " + std::to_string(::getpid()),
                                               "ended 3 exited with code 2", "left 3"}));
  EXPECT_FALSE(service_.is_in(Rank(3)));
}

TEST_F(ContainerServiceTest, CatchingUpReadsWhatHasArrived) {
  ASSERT_TRUE(service_.begin(part()));
  UniqueFd socket = enter(3);
  say(socket, StartFailure{StartFailure::Step::execute, ENOENT, "train", "/bin"});
  socket.reset();
  service_.catch_up(Rank(3));
  EXPECT_EQ(events_, (std::vector<std::string>{"failed 3 train", "left 3"}));
}

TEST_F(ContainerServiceTest, ANonsenseMessageEndsTheConnection) {
  ASSERT_TRUE(service_.begin(part()));
  const UniqueFd socket = enter(3);
  EXPECT_TRUE(send_packet(socket.get(), "nonsense"));
  run_until([&] { return !events_.empty(); });
  EXPECT_EQ(events_, std::vector<std::string>{"left 3"});
  EXPECT_TRUE(is_closed(socket));
}

TEST_F(ContainerServiceTest, DemandsReachTheFirstProcess) {
  ASSERT_TRUE(service_.begin(part()));
  EXPECT_FALSE(service_.signal(Rank(3), SIGTERM)) << "it is not connected";
  const UniqueFd socket = enter(3);
  EXPECT_TRUE(service_.signal(Rank(3), SIGTERM));
  EXPECT_TRUE(service_.pass(Rank(3), SIGUSR1));
  service_.kill_all();
  using Kind = EntryDemand::Kind;
  EXPECT_EQ(demand_on(socket), (EntryDemand{Kind::signal, SIGTERM}));
  EXPECT_EQ(demand_on(socket), (EntryDemand{Kind::pass, SIGUSR1}));
  EXPECT_EQ(demand_on(socket), (EntryDemand{Kind::kill, 0}));
}

TEST_F(ContainerServiceTest, AProgramBesideTheRankIsOrderedAndBringsItsTerminal) {
  ASSERT_TRUE(service_.begin(part()));
  wire::OpenTerminal request;
  request.argv = {"sh"};
  EXPECT_EQ(service_.start_beside(Rank(3), request, {}).error(), ENOTCONN);
  const UniqueFd socket = enter(3);
  for (const bool is_terminal : {true, false}) {
    request.is_terminal = is_terminal;
    ASSERT_TRUE(service_.start_beside(
        Rank(3), request,
        {duplicate(STDERR_FILENO), duplicate(STDERR_FILENO), duplicate(STDERR_FILENO)}));
    std::vector<UniqueFd> handed;
    const auto packet = receive_packet(socket.get(), kMostEntryBytes, 5, handed, true);
    ASSERT_TRUE(packet);
    EXPECT_EQ(decode_demand(*packet), EntryDemand{EntryDemand::Kind::beside});
    EXPECT_EQ(handed.size(), is_terminal ? 1U : 4U) << "the order, and its streams";
    const UniqueFd master = duplicate(STDERR_FILENO);
    EXPECT_TRUE(send_packet(socket.get(), encode(EntryNews(BesideStarted{0, 47})),
                            is_terminal ? std::vector<int>{master.get()} : std::vector<int>{}));
  }
  say(socket, wire::TerminalEnded{0, "why", {}});
  run_until([&] { return events_.size() == 3; });
  EXPECT_EQ(events_, (std::vector<std::string>{"terminal 3 47", "beside 3 47", "ended why"}));
}

TEST_F(ContainerServiceTest, ClearingRunsTheEnginesCommandForAllRanks) {
  std::ofstream(engine()) << "#!/bin/sh\necho \"$*\" >>" << base_ << "/said\n";
  ASSERT_EQ(::chmod(engine().c_str(), 0700), 0);
  ASSERT_TRUE(service_.begin(part(3)));
  ASSERT_TRUE(service_.begin(part(5)));
  ASSERT_TRUE(service_.needs_clearing());
  bool cleared = false;
  service_.clear([&] { cleared = true; });
  EXPECT_TRUE(service_.is_clearing());
  const MonotonicTime end = monotonic_now() + kLimit;
  while (!cleared && monotonic_now() < end) {
    bool none_left = false;
    if (const auto reaped = reap_one(none_left)) {
      EXPECT_TRUE(service_.was_reaped(reaped->pid));
    } else {
      wait_for_child(std::chrono::milliseconds(100));
    }
    loop_.poll();
  }
  EXPECT_TRUE(cleared);
  EXPECT_FALSE(service_.needs_clearing());
  std::ifstream file(std::string(base_) + "/said");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
            "rm --force dlaunch-x-3 dlaunch-x-5\n");
}

}  // namespace
}  // namespace dlaunch
