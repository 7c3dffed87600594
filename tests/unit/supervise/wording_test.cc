#include "supervise/wording.h"

#include <csignal>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using namespace std::chrono_literals;

TEST(Wording, Durations) {
  EXPECT_EQ(wording::duration(0ms), "0 s");
  EXPECT_EQ(wording::duration(250ms), "250 ms");
  EXPECT_EQ(wording::duration(1500ms), "1 s 500 ms");
  EXPECT_EQ(wording::duration(30s), "30 s");
  EXPECT_EQ(wording::duration(90s), "1 min 30 s");
  EXPECT_EQ(wording::duration(2h), "2 h");
  EXPECT_EQ(wording::duration(2h + 5s), "2 h");
  EXPECT_EQ(wording::duration(73h), "3 d 1 h");
}

TEST(Wording, Stopping) {
  const wording::Stopping eight{8, SIGTERM, 30s};
  EXPECT_EQ(wording::stopping_on_cancel(SIGINT, eight),
            "stopping 8 ranks (SIGTERM, up to 30 s); Ctrl-C again to kill at once");
  EXPECT_EQ(wording::stopping_on_cancel(SIGQUIT, eight),
            "stopping 8 ranks (SIGTERM, up to 30 s); Ctrl-\\ again to kill at once");
  EXPECT_EQ(wording::stopping_on_cancel(SIGTERM, eight),
            "SIGTERM received, stopping 8 ranks (SIGTERM, up to 30 s); a second one kills at once");
  EXPECT_EQ(wording::stopping_on_cancel(SIGHUP, {1, SIGUSR1, 5s}),
            "the terminal was closed (SIGHUP), stopping 1 rank (SIGUSR1, up to 5 s)");
  EXPECT_EQ(wording::stopping_on_cancel(0, eight),
            "the dlaunch command is gone, stopping 8 ranks (SIGTERM, up to 30 s)");
  EXPECT_EQ(wording::stopping_at_limit(1h, eight),
            "time limit of 1 h reached, stopping 8 ranks (SIGTERM, up to 30 s)");
}

TEST(Wording, LostNodes) {
  const std::vector<std::string> all = {"node1", "node2", "node3", "node4", "node5", "node6"};
  wording::NodeNames names;
  for (const std::string& name : all)
    names.emplace(NodeId(static_cast<std::uint32_t>(names.size())), name);
  EXPECT_EQ(wording::node(names, NodeId{1}), "node2");
  EXPECT_EQ(wording::node({}, NodeId{1}), "node 1");
  FailedAttempt failed;
  failed.ran = 42s;
  failed.wait = 5s;
  failed.restart = 1;
  failed.restarts_max = 3;
  failed.outcome.lost_nodes = {{NodeId{2}, "no sign of life for 15 s"}};
  EXPECT_EQ(wording::restart(failed, names),
            "node3 was lost (no sign of life for 15 s) after 42.0 s; restart 1 of 3 in 5 s");
  failed.outcome.lost_nodes.push_back({NodeId{0}, "gone"});
  EXPECT_EQ(wording::restart(failed, names),
            "node3 and node1 were lost after 42.0 s; restart 1 of 3 in 5 s");
  EXPECT_EQ(wording::waiting_for({"node3"}, 5min), "waiting up to 5 min for node3 to answer again");
  EXPECT_EQ(wording::waiting_for(all, 5min),
            "waiting up to 5 min for node1, node2, node3 and 3 more to answer again");
  EXPECT_EQ(wording::no_return("gone", 5min, ""),
            "lost (gone), and it did not answer again within 5 min (timeouts.node_return)");
}

TEST(Wording, NoAnswer) {
  EXPECT_EQ(wording::no_answer(30s), "no answer within 30 s");
}

}  // namespace
}  // namespace dlaunch
