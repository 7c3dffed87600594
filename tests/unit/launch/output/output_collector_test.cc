// OutputCollector with a simple imitation of an agent's store of bytes.
#include "launch/output/output_collector.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace dlaunch {
namespace {

using Part = wire::OutputPart;

class OutputCollectorTest : public testing::Test {
 protected:
  OutputCollectorTest() {
    EXPECT_NE(::mkdtemp(folder_), nullptr);
    plan_.attempt = Attempt(1);
    plan_.nodes.resize(3);
    for (std::uint32_t i = 0; i < 3; ++i) {
      plan_.nodes[i].id = NodeId(i);
      plan_.nodes[i].name = "gpu0" + std::to_string(i);
      plan_.nodes[i].is_remote = i > 0;
      plan_.nodes[i].output_folder = "/there/" + std::to_string(i);
    }
    for (std::uint32_t i = 0; i < 6; ++i) {  // two ranks a node
      plan_.ranks.emplace_back().rank = Rank(i);
      plan_.ranks.back().node = NodeRank(i / 2);
    }
    collector_.begin(plan_, folder_);
    for (std::uint32_t i = 0; i < 6; ++i) collector_.rank_started(Rank(i));
  }
  ~OutputCollectorTest() override { std::filesystem::remove_all(folder_); }

  static std::string text(std::size_t size, char first) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i)
      bytes += static_cast<char>(first + static_cast<char>(i % 26));
    return bytes;
  }
  void data(std::uint32_t rank, std::uint64_t offset, std::string_view bytes) {
    collector_.add(NodeId(rank / 2), {Attempt(1), Rank(rank), Stream::out, offset, bytes});
  }
  void end(std::uint32_t rank, std::uint64_t out, std::uint64_t err = 0, std::uint64_t lost = 0) {
    const NodeId node(rank / 2);
    collector_.end(node, {Attempt(1), Rank(rank), Stream::out, out, lost});
    collector_.end(node, {Attempt(1), Rank(rank), Stream::err, err, 0});
  }
  void end_all_but(std::set<std::uint32_t> those) {
    for (std::uint32_t rank = 2; rank < 6; ++rank) {
      if (!those.contains(rank)) end(rank, 0);
    }
    for (std::uint32_t node = 1; node < 3; ++node) collector_.node_empty(NodeId(node), Attempt(1));
  }
  /// What the agents have, by rank and part; "\0" stands for a lost byte.
  void answer(std::size_t most = 1000) {
    while (!asked_.empty() && most-- > 0) {
      const auto [node, request] = asked_.front();
      asked_.pop_front();
      const std::string& store = stores_[{request.rank, request.part}];
      std::uint64_t at = std::min<std::uint64_t>(request.offset, store.size());
      while (at < store.size() && store[at] == '\0') ++at;
      std::uint64_t last = at;
      while (last < store.size() && store[last] != '\0' && last - at < request.size) ++last;
      collector_.fetched(node,
                         {Attempt(1), request.rank, request.part, at, store.substr(at, last - at)});
    }
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    std::ifstream in(std::string(folder_) + '/' + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(std::string(folder_) + '/' + name);
  }

  char folder_[40] = "/tmp/output-collector-XXXXXX";
  LaunchPlan plan_;
  std::deque<std::pair<NodeId, wire::FetchOutput>> asked_;
  std::vector<NodeId> forgotten_;
  std::size_t most_asked_ = 0;
  std::map<std::pair<Rank, Part>, std::string> stores_;
  OutputCollector collector_{[this](NodeId node, const wire::ToAgent& message) {
    if (const auto* fetch = std::get_if<wire::FetchOutput>(&message)) {
      asked_.emplace_back(node, *fetch);
      most_asked_ = std::max(most_asked_, asked_.size());
    }
    if (std::holds_alternative<wire::ForgetOutput>(message)) forgotten_.push_back(node);
  }};
};

TEST_F(OutputCollectorTest, WhatPassesIsWrittenAtOnceAndAskedForNeverAgain) {
  data(2, 0, "hello ");
  data(2, 6, "world\n");
  EXPECT_EQ(file("rank-2.out"), "hello world\n");
  struct stat info {};
  ASSERT_EQ(::stat((std::string(folder_) + "/rank-2.out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  end(2, 12);
  end_all_but({2});
  EXPECT_TRUE(asked_.empty());
  EXPECT_TRUE(collector_.complete());
  EXPECT_EQ(forgotten_, (std::vector{NodeId(1), NodeId(2)}));
  EXPECT_TRUE(collector_.missing().empty());
  EXPECT_FALSE(has("rank-3.out")) << "a file appears with its first byte";
}

TEST_F(OutputCollectorTest, OfTheLaunchersOwnMachineNothingIsTaken) {
  data(0, 0, "x");
  EXPECT_FALSE(has("rank-0.out")) << "its agent writes there itself";
}

TEST_F(OutputCollectorTest, AnAgentSpeaksForItsOwnRanksOnly) {
  collector_.add(NodeId(2), {Attempt(1), Rank(2), Stream::out, 0, "wrong"});
  collector_.end(NodeId(2), {Attempt(1), Rank(2), Stream::out, 0, 0});
  collector_.add(NodeId(1), {Attempt(0), Rank(2), Stream::out, 0, "old"});
  collector_.add(NodeId(1), {Attempt(1), Rank(77), Stream::out, 0, "none"});
  EXPECT_FALSE(has("rank-2.out"));
  EXPECT_FALSE(has("rank-77.out"));
}

TEST_F(OutputCollectorTest, WhatWasNotShownIsFetchedWithinAWindow) {
  const std::string large = text(5'000'000, 'a');
  stores_[{Rank(3), Part::out}] = large;
  stores_[{Rank(2), Part::out}] = "head and tail";
  data(2, 0, "head");
  end(2, 13);
  end(3, large.size());
  EXPECT_TRUE(asked_.empty()) << "not while ranks still run";
  end_all_but({2, 3});
  EXPECT_FALSE(collector_.complete());
  answer();
  EXPECT_TRUE(collector_.complete());
  EXPECT_LE(most_asked_, 16U);
  EXPECT_EQ(file("rank-2.out"), "head and tail");
  EXPECT_TRUE(file("rank-3.out") == large);
  EXPECT_EQ(forgotten_, (std::vector{NodeId(2), NodeId(1)}));
}

TEST_F(OutputCollectorTest, AFileIsATrueBeginningAtEveryTime) {
  // A console that stalled shows the end; `dlaunch logs -f` reads the file meanwhile.
  const std::string all = text(1'000'000, 'a');
  stores_[{Rank(2), Part::out}] = all;
  data(2, 0, all.substr(0, 1000));
  data(2, 900'000, all.substr(900'000, 5000));
  EXPECT_EQ(file("rank-2.out"), all.substr(0, 1000)) << "no hole";
  EXPECT_FALSE(asked_.empty()) << "what is between them, at once";
  data(2, 905'000, all.substr(905'000, 1000));
  answer();
  EXPECT_TRUE(file("rank-2.out") == all.substr(0, 906'000));
  data(2, 905'500, all.substr(905'500, 5000));  // a part of it is known
  data(2, 400, all.substr(400, 700));           // all of it
  EXPECT_TRUE(file("rank-2.out") == all.substr(0, 910'500));
  EXPECT_TRUE(asked_.empty());
  end(2, all.size());
  end_all_but({2});
  answer();
  EXPECT_TRUE(collector_.complete());
  EXPECT_TRUE(file("rank-2.out") == all);
}

TEST_F(OutputCollectorTest, WhatPassesWhileAGapIsFetchedIsNotWrittenTwice) {
  const std::string all = text(600'000, 'a');
  stores_[{Rank(2), Part::out}] = all;
  data(2, 300'000, all.substr(300'000, 1000));
  answer(1);
  data(2, 131'072, all.substr(131'072, 200'000));  // a new connection sends it again
  EXPECT_TRUE(file("rank-2.out") == all.substr(0, 331'072));
  answer();
  EXPECT_TRUE(file("rank-2.out") == all.substr(0, 331'072));
}

TEST_F(OutputCollectorTest, ShortAnswersAreAskedForAgain) {
  std::string store = text(700'000, 'a');
  store[200'000] = '\0';  // where a node has lost a byte, an answer ends
  stores_[{Rank(2), Part::out}] = store;
  end(2, store.size(), 0, 1);
  end_all_but({2});
  answer();
  EXPECT_TRUE(collector_.complete());
  const std::string mark = "\n[... 1 bytes lost on gpu01]\n";
  EXPECT_TRUE(file("rank-2.out") == store.substr(0, 200'000) + mark + store.substr(200'001));
  EXPECT_TRUE(collector_.missing().empty());
}

TEST_F(OutputCollectorTest, WhatWaitsForTheConsoleIsFetchedWhenItTakesNothingMore) {
  stores_[{Rank(4), Part::out}] = "shown and not shown";
  data(4, 0, "shown");
  end_all_but({4});
  EXPECT_TRUE(asked_.empty());
  EXPECT_FALSE(collector_.complete());
  collector_.fetch_rest();
  answer();
  EXPECT_TRUE(collector_.complete());
  EXPECT_EQ(file("rank-4.out"), "shown and not shown");
}

TEST_F(OutputCollectorTest, ErrorFilesOfFailedRanksComeToo) {
  stores_[{Rank(5), Part::error_file}] = "{\"message\": 1}";
  collector_.rank_failed(Rank(5));
  collector_.rank_failed(Rank(4));  // it has written none
  collector_.rank_failed(Rank(0));  // not remote
  end_all_but({});
  answer();
  EXPECT_TRUE(collector_.complete());
  EXPECT_EQ(file("rank-5.error.json"), "{\"message\": 1}");
  EXPECT_FALSE(has("rank-4.error.json"));
}

TEST_F(OutputCollectorTest, BytesThatTheNodeCouldNotStoreAndThatHavePassedAreNotLost) {
  data(2, 0, "abcdefghijk");
  end(2, 11, 0, 5);
  end_all_but({2});
  answer();
  EXPECT_TRUE(collector_.complete());
  EXPECT_EQ(file("rank-2.out"), "abcdefghijk");
  EXPECT_TRUE(collector_.missing().empty());
  EXPECT_EQ(collector_.lost_of(Rank(2), Part::out), 0U);
}

TEST_F(OutputCollectorTest, BytesThatTheNodeLostAreNotAskedForEndlessly) {
  // Its disk was full for a while: the agent reports it in OutputEnd, and the run's last lines say
  // so.
  stores_[{Rank(2), Part::out}] = std::string("abc\0\0\0ghi\0\0", 11);
  end(2, 11, 0, 5);
  end_all_but({2});
  answer();
  EXPECT_TRUE(collector_.complete());
  EXPECT_EQ(file("rank-2.out"),
            "abc\n[... 3 bytes lost on gpu01]\nghi\n[... 2 bytes lost on gpu01]\n");
  EXPECT_TRUE(collector_.missing().empty());
  EXPECT_EQ(collector_.lost_of(Rank(2), Part::out), 5U);
  EXPECT_EQ(collector_.lost_of(Rank(0), Part::out), std::nullopt);  // not remote
  // A file that was removed there is reported.
  stores_.clear();
  collector_.begin(plan_, folder_);
  collector_.rank_started(Rank(2));
  end(2, 11);
  collector_.node_empty(NodeId(1), Attempt(1));
  answer();
  EXPECT_TRUE(collector_.complete());
  EXPECT_EQ(collector_.missing(),
            (std::vector<std::string>{
                "the rest of the output of rank 2 (stdout) is on gpu01 in /there/1"}));
}

TEST_F(OutputCollectorTest, OfALostNodeItIsToldWhereTheRestIs) {
  data(2, 0, "12345");
  end(3, 0);
  collector_.node_lost(NodeId(1));
  collector_.node_lost(NodeId(0));
  data(4, 0, "x");
  end(4, 1);
  end(5, 0);
  collector_.node_empty(NodeId(2), Attempt(1));
  collector_.fetch_rest();
  EXPECT_TRUE(collector_.complete());
  EXPECT_EQ(collector_.missing(),
            (std::vector<std::string>{"the rest of the output of rank 2 (stdout from byte 5 on, "
                                      "stderr from byte 0 on) is on gpu01 in /there/1"}));
  EXPECT_EQ(forgotten_, std::vector{NodeId(2)});
}

TEST_F(OutputCollectorTest, ALostNodeIsNamedOnlyWhereItMayHaveOutput) {
  data(2, 0, "12345");
  data(3, 5, "behind what has not come");
  collector_.node_lost(NodeId(1));
  collector_.node_lost(NodeId(0));
  collector_.node_empty(NodeId(2), Attempt(1));
  collector_.fetch_rest();
  const auto all_came = [](Rank rank, Part part) { return rank != Rank(2) || part == Part::out; };
  EXPECT_EQ(collector_.missing(all_came),
            (std::vector<std::string>{"the rest of the output of ranks 2, 3 is on gpu01 in "
                                      "/there/1"}))
      << "rank 2: stderr, rank 3: stdout";
  const auto all = [](Rank, Part) { return true; };
  EXPECT_EQ(collector_.missing(all),
            (std::vector<std::string>{"the rest of the output of rank 3 (stdout from byte 0 on) is "
                                      "on gpu01 in /there/1"}));
}

TEST_F(OutputCollectorTest, OfANodeThatWasLostWithoutAWordMoreMayBeThere) {
  data(2, 0, "12345");
  collector_.node_lost(NodeId(1), false);
  collector_.node_lost(NodeId(0));
  collector_.node_empty(NodeId(2), Attempt(1));
  collector_.fetch_rest();
  const auto all = [](Rank, Part) { return true; };
  EXPECT_EQ(collector_.missing(all),
            (std::vector<std::string>{"what ranks 2, 3 printed after the last sign of life from "
                                      "gpu01 may be on that node, in /there/1"}));
}

TEST_F(OutputCollectorTest, GivingUpLeavesTheFilesThere) {
  stores_[{Rank(2), Part::out}] = text(3'000'000, 'a');
  stores_[{Rank(3), Part::out}] = text(10, 'a');
  end(2, 3'000'000);
  end(3, 10);
  end_all_but({2, 3});
  answer(3);
  collector_.give_up();
  EXPECT_TRUE(collector_.complete());
  EXPECT_EQ(
      collector_.missing(),
      (std::vector<std::string>{"the rest of the output of ranks 2, 3 is on gpu01 in /there/1"}));
  EXPECT_EQ(forgotten_, std::vector{NodeId(2)}) << "gpu01 keeps its files";
}

TEST_F(OutputCollectorTest, NonsenseEndsTheStreamAndNotTheLauncher) {
  end(2, std::uint64_t{1} << 62);
  end(3, 100);
  end_all_but({2, 3});
  ASSERT_FALSE(asked_.empty());
  const auto answer_with = [&](std::uint64_t offset, std::string bytes) {
    const auto request = asked_.front().second;
    asked_.pop_front();
    collector_.fetched(NodeId(1),
                       {Attempt(1), request.rank, request.part, offset, std::move(bytes)});
  };
  collector_.fetched(NodeId(1), {Attempt(1), Rank(5), Part::out, 0, "not asked for"});
  collector_.fetched(NodeId(2), {Attempt(1), Rank(2), Part::out, 0, "nor of this node"});
  answer_with(0, "");  // an end that does not exist
  while (!asked_.empty() && asked_.front().second.rank == Rank(2)) answer_with(0, "");
  ASSERT_FALSE(asked_.empty());
  answer_with(0, std::string(101, 'x'));  // more than was asked for
  EXPECT_TRUE(collector_.complete());
  EXPECT_EQ(file("rank-2.out"), "[... 4611686018427387904 bytes lost on gpu01]\n");
  EXPECT_FALSE(has("rank-3.out"));
  EXPECT_FALSE(collector_.missing().empty());
}

TEST_F(OutputCollectorTest, AFileThatCannotBeWrittenIsTold) {
  std::filesystem::create_symlink("/tmp/elsewhere", std::string(folder_) + "/rank-2.out");
  data(2, 0, "x");
  end(2, 1);
  stores_[{Rank(2), Part::out}] = "x";
  end_all_but({2});
  answer();
  EXPECT_TRUE(collector_.complete());
  EXPECT_NE(collector_.write_error().find("rank-2.out: Too many levels of symbolic links"),
            std::string::npos)
      << collector_.write_error();
  EXPECT_EQ(collector_.missing().size(), 1U);
}

}  // namespace
}  // namespace dlaunch
