// For tests of what the engine does at the sockets of a run folder: its loop, and two nodes of two
// ranks each; the test, or a thread of it, is the user's process.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

#include <stdlib.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "fake_nodes.h"
#include "launch/questions/run_socket.h"
#include "model/launch_plan.h"
#include "os/clock.h"
#include "os/event_loop.h"

namespace dlaunch {

class RunSocketTest : public testing::Test {
 protected:
  RunSocketTest() : nodes_(2) {
    run_.path = "/tmp/dlaunch-test-XXXXXX";
    if (::mkdtemp(run_.path.data()) == nullptr) throw std::runtime_error("mkdtemp");
    run_.id = "20261120-210142-k3f";
    run_.state = RunState::running;
    plan_.attempt = Attempt(3);
    plan_.nodes.resize(2);
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      plan_.ranks.emplace_back().rank = Rank(rank);
      plan_.ranks.back().node = NodeRank(rank / 2);
    }
    for (std::uint32_t node = 0; node < 2; ++node) plan_.nodes[node].id = NodeId(node);
  }
  /// After the sockets have been closed.
  ~RunSocketTest() override { ::rmdir(run_.path.c_str()); }

  /// Runs the loop until `done` holds, for 10 s at most.
  template <class Done>
  void run_until(const Done& done) {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(10);
    bool is_done = done();
    while (!is_done && monotonic_now() < end) {
      (void)loop_.run_one(monotonic_now() + std::chrono::milliseconds(20));
      is_done = done();
    }
    EXPECT_TRUE(is_done);
  }

  EventLoop loop_;
  FakeNodes nodes_;
  LaunchPlan plan_;
  RunView run_;
};

}  // namespace dlaunch
