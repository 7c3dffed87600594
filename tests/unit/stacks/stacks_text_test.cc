#include "report/stacks_text.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "stack_builder.h"
#include "text/utf8.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;

/// Rank 1 sleeps while the others wait in a collective: the program of which
/// tests/data/stacks has the stacks.
StacksReply hang() {
  StacksReply reply;
  reply.world = 4;
  const auto frames = recorded_main_thread("torch-1.13-all_reduce.json").frames;
  for (const std::uint32_t rank : {0U, 2U, 3U})
    reply.ranks.push_back(
        standing(rank, rank < 2 ? "gpu01" : "gpu02", frames, "waiting for events"));
  std::vector<StackFrame> odd(frames.begin() + 1, frames.end());
  odd.front().line = 8;
  reply.ranks.insert(reply.ranks.begin() + 1, standing(1, "gpu01", odd));
  return reply;
}

TEST(StacksText, AHangAtAGlance) {
  EXPECT_EQ(stacks_text(hang()),
            "ranks 0-3 (gpu01, gpu02)\n"
            "  <module>  /home/me/job/train.py:38\n"
            "  main  /home/me/job/train.py:36\n"
            "  ranks 0, 2, 3 (gpu01, gpu02)\n"
            "    step  /home/me/job/train.py:9\n"
            "    all_reduce  ...hon3/dist-packages/torch/distributed/distributed_c10d.py:1541\n"
            "    = waits in all_reduce of torch.distributed, for the other ranks\n"
            "    = waiting for events\n"
            "  rank 1 (gpu01)\n"
            "    step  /home/me/job/train.py:8\n"
            "    = sleeping\n");
}

TEST(StacksText, NoLineIsLongerThanTheScreen) {
  StacksReply reply = hang();
  reply.ranks[0].processes[0].command = std::string(500, 'x');
  reply.ranks[0].remarks = {std::string(500, 'y')};
  reply.ranks[2].processes[0].threads[0].doing = "reading /" + std::string(200, 'z');
  std::vector<StackFrame> deep;
  for (std::uint32_t i = 0; i < 100; ++i)
    deep.push_back(python("f", "/a/" + std::string(90, 'p'), i));
  reply.ranks[3].processes[0].threads[0].frames = deep;
  for (const std::size_t columns : {40U, 80U, 200U}) {
    std::istringstream lines(stacks_text(reply, columns));
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(utf8_length(line), columns) << line;
  }
}

TEST(StacksText, NothingOfARankReachesTheTerminalAsItIs) {
  StacksReply reply;
  reply.ranks = {
      standing(0, "a\x1b[31m", {python("f\x1b]0;x\x07", "a\n.py", 1)}, "reading /\x1b[2J")};
  reply.ranks[0].remarks = {"no\x1b[1m"};
  reply.silent = {"b\x1b[1m: late"};
  EXPECT_EQ(stacks_text(reply).find('\x1b'), std::string::npos);
  EXPECT_THAT(stacks_text(reply), HasSubstr("no answer from b: late\n"));
}

TEST(StacksText, RanksWithoutAProcessAndWhatIsMissing) {
  StacksReply reply;
  reply.ranks = {RankStacks{Rank(0), "a", {}, {}, {}, {}}, RankStacks{Rank(1), "a", {}, {}, {}, {}},
                 standing(2, "a", {}, "")};
  reply.ranks[2].remarks = {"no py-spy there", "no py-spy there"};
  EXPECT_EQ(stacks_text(reply),
            "rank 2 (a)\n"
            "  = not known\n"
            "ranks 0, 1 (a)\n"
            "  = no process: ended, or not started\n"
            "rank 2 (a): no py-spy there\n");
}

TEST(StacksJson, HasEverythingThatIsKnown) {
  StacksReply reply = hang();
  reply.attempt = 2;
  reply.silent = {"gpu03: late"};
  const auto json = nlohmann::json::parse(stacks_json(reply));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["attempt"], 2);
  EXPECT_EQ(json["world"], 4);
  EXPECT_EQ(json["silent"][0], "gpu03: late");
  ASSERT_EQ(json["ranks"].size(), 4U);
  const auto& thread = json["ranks"][0]["processes"][0]["threads"][0];
  EXPECT_EQ(thread["state"], "S");
  EXPECT_EQ(thread["doing"], "waiting for events");
  EXPECT_EQ(thread["waits_in"], "all_reduce of torch.distributed, for the other ranks");
  EXPECT_EQ(thread["frames"][0]["function"], "all_reduce");
  EXPECT_EQ(thread["frames"][0]["kind"], "python");
  EXPECT_EQ(json["ranks"][1]["host"], "gpu01");
  EXPECT_EQ(json["ranks"][1]["processes"][0]["threads"][0]["waits_in"], "");
}

}  // namespace
}  // namespace dlaunch
