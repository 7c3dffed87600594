#include "report/status_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

StatusReply reply_of(std::uint32_t nodes, std::uint32_t ranks_each) {
  StatusReply reply;
  reply.run = "20261125-142641-k3f";
  reply.name = "train";
  reply.state = "running";
  reply.attempt = 1;
  reply.run_ms = 724'000;
  reply.attempt_ms = 61'500;
  reply.metrics = {"loss"};
  for (std::uint32_t node = 0; node < nodes; ++node) {
    NodeStatus& one = reply.nodes.emplace_back();
    one.host = "gpu0" + std::to_string(node + 1);
    one.pulse = {212, 64, 2100, 201'000'000'000, 0, {}};
    for (std::uint32_t i = 0; i < ranks_each; ++i) {
      RankStatus& rank = reply.ranks.emplace_back();
      rank.node = node;
      rank.started = true;
      rank.cpu_percent = 98;
      rank.pulse.rank = Rank(node * ranks_each + i);
      rank.pulse.state = "R";
      rank.pulse.output = 1000;
      rank.pulse.quiet_ms = 300;
      rank.pulse.memory = 1'200'000'000;
      rank.pulse.last_line = "step 120 loss 2.25";
      rank.pulse.metrics = {{0, "2.25"}};
    }
  }
  return reply;
}

TEST(StatusText, ARowForEachRank) {
  StatusReply reply = reply_of(2, 2);
  reply.ranks[1].pulse.state = "T";
  reply.ranks[1].pulse.quiet_ms = 12'400;
  reply.ranks[1].cpu_percent = 0;
  reply.ranks[3].end = "exited with code 3";
  reply.ranks[2].pulse.metrics.clear();
  reply.ranks[2].pulse.output = 0;
  EXPECT_EQ(status_text(reply, 100),
            "run 20261125-142641-k3f (train): running, started 12m04s ago, attempt 1 for 1m02s, 4 "
            "ranks on 2 n...\n"
            "gpu01: 2.1 of 64 cores in use, 2100 MHz, 201 GB of memory free\n"
            "gpu02: 2.1 of 64 cores in use, 2100 MHz, 201 GB of memory free\n"
            "\n"
            "rank  host   state               output  loss  CPU %  memory  last line\n"
            "   0  gpu01  running               0.3s  2.25     98  1.2 GB  step 120 loss 2.25\n"
            "   1  gpu01  stopped              12.4s  2.25      0  1.2 GB  step 120 loss 2.25\n"
            "   2  gpu02  running               none     -     98  1.2 GB  step 120 loss 2.25\n"
            "   3  gpu02  exited with code 3    0.3s  2.25      -       -  step 120 loss 2.25\n");
}

TEST(StatusText, ColumnsOfWhatIsThereOnly) {
  StatusReply reply = reply_of(1, 1);
  EXPECT_THAT(status_text(reply, 200), Not(HasSubstr("GPU")));
  EXPECT_THAT(status_text(reply, 200), Not(HasSubstr("beat")));
  reply.ranks[0].pulse.gpu_percent = 97;
  reply.ranks[0].pulse.gpu_memory = 31'000'000'000;
  reply.ranks[0].pulse.heartbeats = 4;
  reply.ranks[0].pulse.heartbeat_ms = 2500;
  const std::string text = status_text(reply, 200);
  EXPECT_THAT(text, HasSubstr("output  beat  loss  CPU %  memory  GPU %  GPU mem  last line\n"));
  EXPECT_THAT(text, HasSubstr("  2.5s  2.25     98  1.2 GB     97    31 GB  step"));
}

TEST(StatusText, From65RanksOnARowForEachNode) {
  StatusReply reply = reply_of(9, 8);
  reply.ranks[9].pulse.state = "T";
  reply.ranks[9].cpu_percent = 0;
  reply.ranks[9].pulse.quiet_ms = 12'400;
  reply.ranks[9].pulse.metrics = {{0, "10.5"}};
  const ScreenPage page = status_page(reply, 200);
  ASSERT_EQ(page.rows.size(), 9U);
  EXPECT_EQ(page.rows[0],
            "gpu01  0-7    8 running                        0.3s            2.25       98  9.6 GB");
  EXPECT_EQ(page.rows[1],
            "gpu02  8-15   7 running, 1 stopped  0.3s/0.3s/12.4s  2.25/2.25/10.5  0/98/98  9.6 GB");
}

TEST(StatusText, NodesThatAreUnusual) {
  StatusReply reply = reply_of(2, 1);
  reply.nodes[0].silent_ms = 20'000;
  reply.nodes[1].pulse.memory_stall_permille = 123;
  reply.nodes[1].pulse.remarks = {"GPU 3: its clocks are held down: heat"};
  const std::string text = status_text(reply, 200);
  EXPECT_THAT(text, HasSubstr("\ngpu01: nothing heard for 20.0s\n"));
  EXPECT_THAT(text, HasSubstr("\ngpu02: processes wait for memory 12 % of the time\n"));
  EXPECT_THAT(text, HasSubstr("\ngpu02: GPU 3: its clocks are held down: heat\n"));
}

TEST(StatusText, BeforeTheRanksAndWithoutWatching) {
  StatusReply early;
  early.run = "r";
  early.state = "preparing";
  EXPECT_EQ(status_text(early, 80), "run r: preparing, started 0.0s ago\n");
  StatusReply blind = reply_of(1, 1);
  blind.is_watched = false;
  const std::string text = status_text(blind, 80);
  EXPECT_THAT(text, HasSubstr("watch.after: none"));
  EXPECT_THAT(text, HasSubstr("rank  host   state\n   0  gpu01  started\n"));
}

TEST(StatusText, SparesWithTheirStates) {
  StatusReply reply = reply_of(1, 1);
  reply.spares = {{"gpu05", "ready"}, {"gpu06", "not connected"}, {"gpu07", "checking"}};
  EXPECT_THAT(status_text(reply, 80),
              HasSubstr("spares: gpu05, gpu06 (not connected), gpu07 (checking)\n"));
  const auto json = nlohmann::json::parse(status_json(reply));
  EXPECT_EQ(json["spares"][0]["state"], "ready");
  EXPECT_EQ(json["spares"][2]["state"], "checking");
}

TEST(StatusText, WhatComesFromRanksIsHarmless) {
  StatusReply reply = reply_of(1, 1);
  reply.ranks[0].pulse.last_line = "\x1b[31mred\xff";
  reply.nodes[0].host = "a\x07";
  EXPECT_THAT(status_text(reply, 200), Not(HasSubstr("\x1b")));
  EXPECT_THAT(status_text(reply, 200), Not(HasSubstr("\x07")));
  EXPECT_EQ(nlohmann::json::parse(status_json(reply))["ranks"][0]["rank"], 0);
}

TEST(StatusText, StatesInWords) {
  RankStatus rank;
  EXPECT_EQ(state_words(rank, true), "not started");
  rank.started = true;
  EXPECT_EQ(state_words(rank, true), "started");
  const auto words = [&](const char* state, std::uint32_t cpu) {
    rank.pulse.state = state;
    rank.cpu_percent = cpu;
    return state_words(rank, true);
  };
  EXPECT_EQ(words("S", 40), "running");
  EXPECT_EQ(words("S", 0), "waiting");
  EXPECT_EQ(words("D", 40), "in the kernel");
  EXPECT_EQ(words("t", 0), "stopped by a debugger");
  EXPECT_EQ(words("Z", 0), "ended");
}

TEST(StatusText, AsJson) {
  const auto json = nlohmann::json::parse(status_json(reply_of(2, 2)));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["state"], "running");
  EXPECT_EQ(json["attempt_ms"], 61'500);
  EXPECT_EQ(json["nodes"][1]["host"], "gpu02");
  const auto& rank = json["ranks"][3];
  EXPECT_EQ(rank["host"], "gpu02");
  EXPECT_EQ(rank["metrics"]["loss"], 2.25);
  EXPECT_TRUE(rank["gpu_percent"].is_null());
  EXPECT_TRUE(rank["heartbeat_ms"].is_null());
  EXPECT_EQ(rank["last_line"], "step 120 loss 2.25");
}

}  // namespace
}  // namespace dlaunch
