#include "launch/connect/connect_progress.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(ConnectProgressText, CountsAndNames) {
  EXPECT_EQ(connect_progress_text({37, 0, {"gpu12", "gpu40"}}, 76),
            "connected 37/39, waiting for gpu12, gpu40");
  EXPECT_EQ(connect_progress_text({1, 2, {"a"}}, 76), "connected 1/4, 2 failed, waiting for a");
  EXPECT_EQ(connect_progress_text({3, 1, {}}, 76), "connected 3/4, 1 failed");
}

TEST(ConnectProgressText, WhatDoesNotFitIsCounted) {
  ConnectCounts counts;
  for (int i = 10; i < 74; ++i) counts.waiting.push_back("gpu" + std::to_string(i));
  EXPECT_EQ(connect_progress_text(counts, 60),
            "connected 0/64, waiting for gpu10, gpu11, gpu12 and 61 more");
  for (std::size_t columns = 50; columns < 200; ++columns)
    EXPECT_LE(connect_progress_text(counts, columns).size(), columns);
  // At least one name is always shown.
  EXPECT_EQ(connect_progress_text({0, 0, {std::string(99, 'x'), "b"}}, 60),
            "connected 0/2, waiting for " + std::string(99, 'x') + " and 1 more");
}

class Shown : public testing::Test {
 protected:
  void wait() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (texts_.empty() && std::chrono::steady_clock::now() < end)
      loop_.run_one(std::chrono::duration_cast<MonotonicTime>(end.time_since_epoch()));
  }
  EventLoop loop_;
  std::vector<std::string> texts_;
  ConnectProgress progress_{loop_, [this](std::string text) { texts_.push_back(std::move(text)); }};
};

TEST_F(Shown, NothingWhenItIsQuick) {
  progress_.waits_for(NodeId(0), "a");
  progress_.connected(NodeId(0));
  progress_.end();
  EXPECT_TRUE(texts_.empty());
}

TEST_F(Shown, AfterAMomentAndUntilTheEnd) {
  progress_.waits_for(NodeId(0), "a");
  progress_.waits_for(NodeId(1), "b");
  progress_.connected(NodeId(1));
  wait();
  progress_.failed(NodeId(0));
  progress_.failed(NodeId(1));  // had answered
  progress_.hold(true);
  progress_.hold(false);
  progress_.end();
  progress_.end();
  EXPECT_EQ(texts_, (std::vector<std::string>{"dlaunch: connected 1/2, waiting for a",
                                              "dlaunch: connected 1/2, 1 failed", "",
                                              "dlaunch: connected 1/2, 1 failed", ""}));
}

}  // namespace
}  // namespace dlaunch
