// RankService with real processes, and a launcher's end of the channel in the same loop.
#include "agent/rank_service.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "os/clock.h"
#include "os/signals.h"

namespace dlaunch {
namespace {

class RankServiceTest : public testing::Test {
 protected:
  RankServiceTest() {
    block_signals({SIGCHLD, SIGPIPE});
    EXPECT_NE(::mkdtemp(folder_), nullptr);
    launcher_.start({[this](wire::Message message) { received_.push_back(std::move(message)); },
                     [](const std::string&) {},
                     {}});
    agent_.start({[](const wire::Message&) {}, [](const std::string&) {}, [] {}});
    EXPECT_TRUE(ranks_.watch_children());
  }
  ~RankServiceTest() override { std::filesystem::remove_all(folder_); }

  wire::StartRanks request(std::uint32_t rank, std::vector<std::string> argv, bool last) const {
    wire::StartRanks start;
    start.log_folder = start.workdir = folder_;
    start.commands.push_back({std::move(argv), false});
    start.ranks.emplace_back().rank = Rank(rank);
    start.output_credit = 65536;
    start.last = last;
    return start;
  }

  template <class Kind>
  std::size_t count() const {
    std::size_t found = 0;
    for (const wire::Message& message : received_) found += std::holds_alternative<Kind>(message);
    return found;
  }

  template <class Kind>
  bool wait_for(std::size_t wanted = 1) {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (count<Kind>() < wanted && loop_.run_one(end)) {
    }
    return count<Kind>() >= wanted;
  }

  char folder_[32] = "/tmp/rank-service-XXXXXX";
  EventLoop loop_;
  std::pair<UniqueFd, UniqueFd> ends_ = *make_socket_pair(SOCK_STREAM);
  Channel launcher_{loop_, duplicate(ends_.first.get()), std::move(ends_.first), 0, 1};
  Channel agent_{loop_, duplicate(ends_.second.get()), std::move(ends_.second), 0, 1};
  FactsService facts_;
  OutputPump pump_{loop_, agent_};
  StdinPump stdin_{loop_, agent_};
  RankService ranks_{loop_, agent_, pump_, stdin_, facts_};
  std::vector<wire::Message> received_;
};

TEST_F(RankServiceTest, NothingIsStartedAfterARankThatCouldNotBe) {
  // wire/message.h, RankNotStarted: "No rank after this one is started on the node."
  ranks_.start(request(0, {"/bin/sleep", "60"}, false));
  ASSERT_TRUE(wait_for<wire::RanksStarted>());
  ranks_.start(request(1, {"/no/such/program"}, false));
  ranks_.start(request(2, {"/bin/sleep", "60"}, true));
  ASSERT_TRUE(wait_for<wire::RankNotStarted>());
  ranks_.stop(Attempt(0), SIGKILL);
  ASSERT_TRUE(wait_for<wire::AttemptEnded>());
  EXPECT_EQ(count<wire::RanksStarted>(), 1U);
  EXPECT_EQ(count<wire::RankExited>(), 1U);
}

TEST_F(RankServiceTest, LaterPartsOfAnAttemptThatHasEndedStartNothing) {
  ranks_.start(request(0, {"/no/such/program"}, false));
  ASSERT_TRUE(wait_for<wire::AttemptEnded>());
  ranks_.start(request(1, {"/bin/true"}, true));
  wire::StartRanks next = request(0, {"/bin/true"}, true);
  next.attempt = Attempt(1);
  ranks_.start(std::move(next));
  ASSERT_TRUE(wait_for<wire::AttemptEnded>(2));
  EXPECT_EQ(count<wire::RanksStarted>(), 1U);
}

}  // namespace
}  // namespace dlaunch
