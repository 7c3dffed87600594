// The base of every part of the engine, for tests: nodes that record, a run folder, and a pipe as
// the console.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "../fake_nodes.h"
#include "launch/output/output_side.h"
#include "launch/output/screen.h"
#include "os/clock.h"
#include "os/signals.h"

namespace dlaunch {

class SideTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kNodes = 3;

  SideTest() {
    block_signals({SIGPIPE});
    options_.current_folder = ::mkdtemp(folder_);
    for (std::uint32_t i = 0; i < kNodes; ++i) nodes_.cluster_.nodes[i].id = node(i);
    options_.plain = true;  // whatever the test's own terminal is
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    reader_.reset(ends[0]);
    writer_end_.reset(ends[1]);
    console_ = std::make_unique<ConsoleWriter>(writer_end_.get(), writer_end_.get());
    router_ = std::make_unique<OutputRouter>(
        loop_, *console_, [this](const wire::OutputCredit& credit) { credits_.push_back(credit); });
    screen_ = std::make_unique<Screen>(*console_, *router_, store_, options_);
    EXPECT_TRUE(store_.open());
  }
  ~SideTest() override { std::filesystem::remove_all(folder_); }

  /// The node at a position of the plan; node ids are not positions.
  static NodeId node(std::uint32_t place) { return NodeId(3 * place + 1); }
  /// Two ranks per node; all nodes except the first are other machines.
  static LaunchPlan make_plan(std::uint32_t attempt = 0) {
    LaunchPlan plan;
    plan.attempt = Attempt(attempt);
    plan.nodes.resize(kNodes);
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      NodePlan& planned = plan.nodes[i];
      planned.id = node(i);
      planned.name = "node" + std::to_string(i);
      planned.is_remote = i > 0;
      planned.output_folder = "/there/" + std::to_string(i);
      for (const std::uint32_t rank : {2 * i, 2 * i + 1}) {
        planned.ranks.emplace_back(rank);
        plan.ranks.emplace_back().rank = Rank(rank);
        plan.ranks.back().node = NodeRank(i);
      }
    }
    return plan;
  }
  /// What the console has shown since the last call.
  std::string shown() {
    for (const Stream stream : {Stream::out, Stream::err})
      EXPECT_NE(console_->drain(stream, std::chrono::seconds(20)), console_->broken(stream));
    std::string text(65536, '\0');
    EXPECT_EQ(::write(writer_end_.get(), "", 1), 1);  // so that a read never waits
    const ssize_t n = ::read(reader_.get(), text.data(), text.size());
    text.resize(n > 0 ? static_cast<std::size_t>(n) - 1 : 0);
    return text;
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    std::ifstream in(store_.folder().path() + '/' + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  template <class Condition>
  bool wait_for(Condition condition) {
    const MonotonicTime limit = monotonic_now() + std::chrono::seconds(20);
    while (!condition() && loop_.run_one(limit)) {
    }
    return condition();
  }
  static event::RankExited exited(std::uint32_t rank, int code) {
    return {Attempt(0), Rank(rank), ExitStatus{false, code, false}, WallTime(), false};
  }

  char folder_[32] = "/tmp/dlaunch-side-XXXXXX";
  EventLoop loop_;
  RunOptions options_;
  FakeNodes nodes_{kNodes};
  UniqueFd reader_;
  UniqueFd writer_end_;
  std::vector<wire::OutputCredit> credits_;
  std::vector<std::string> said_;  // by the store
  RunStore store_{loop_, options_, [this](const std::string& line) { said_.push_back(line); }};
  std::unique_ptr<ConsoleWriter> console_;
  std::unique_ptr<OutputRouter> router_;
  std::unique_ptr<Screen> screen_;
};

}  // namespace dlaunch
