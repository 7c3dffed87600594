// Both ends of a staging in one process: two runs that want the same target at the same time.
#include "node/stage/stage_run.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include <gmock/gmock.h>

#include "node/stage/stage_service.h"
#include "os/clock.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{30};

class StageRunTest : public testing::Test {
 protected:
  StageRunTest() {
    EXPECT_NE(::mkdtemp(base_), nullptr);
    env_ = {{"HOME", path("home")}};
    fs::create_directories(path("home"));
    write("from", std::string(300'000, 'x'));
  }
  ~StageRunTest() override { fs::remove_all(base_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return std::string(base_) + '/' + name;
  }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name)) << content;
  }

  /// A run with one node.
  struct OneRun {
    OneRun(StageRunTest& test, std::string name) : by("run " + std::move(name)) {
      service.emplace(test.loop_, test.env_, [this, &test](wire::StageAnswer answer) {
        // As over a channel: later.
        test.loop_.post([this, answer = std::move(answer)] {
          std::visit([this](const auto& one) { run->on(NodeId(1), one); }, answer);
        });
      });
      run.emplace(test.loop_,
                  StageRun::Callbacks{
                      .send =
                          [this, &test](NodeId, wire::StageOrder order) {
                            test.loop_.post([this, order = std::move(order)]() mutable {
                              auto* const feed = std::get_if<wire::StageFeed>(&order);
                              if (feed != nullptr && holds) return;
                              if (feed != nullptr) ways.push_back(feed->at.size());
                              if (feed != nullptr && is_strange && !feed->at.empty())
                                feed->key.up[0] ^= 1;
                              if (std::holds_alternative<wire::StageHashes>(order)) ++hashes;
                              std::visit([this](auto& one) { service->on(one); }, order);
                            });
                          },
                      .done = [this](Result<StageReport> said) { report = std::move(said); },
                      .show = [](const std::string&) {},
                      .note = [this](const std::string& text) { notes.push_back(text); }});
    }
    std::string by;
    bool holds = false;             // its node is not fed
    bool is_strange = false;        // its node does not have the key
    std::vector<std::size_t> ways;  // of each StageFeed: how many addresses
    int hashes = 0;                 // how many StageHashes
    std::vector<std::string> notes;
    std::optional<Result<StageReport>> report;
    std::optional<StageService> service;
    std::optional<StageRun> run;
  };

  void begin(OneRun& one, Duration patience = Duration(60'000),
             StageRunSettings settings = {}) const {
    settings.items = {{path("from"), path("to/data"), false}};
    settings.by = one.by;
    settings.for_ranks = true;
    settings.patience = patience;
    settings.nodes.push_back({NodeId(1), "gpu01", false});
    one.report.reset();
    one.run->begin(std::move(settings));
  }
  template <class Holds>
  void run_until(const Holds& holds) {
    const MonotonicTime end = monotonic_now() + kPatience;
    while (!holds() && monotonic_now() < end) loop_.run_one(end);
    ASSERT_TRUE(holds());
  }
  /// The bytes that were sent, or what went wrong.
  std::string end(OneRun& one) {
    run_until([&] { return one.report.has_value(); });
    if (!one.report) return "no end";
    const Result<StageReport>& report = *one.report;
    return report ? std::to_string(report->nodes.at(0).bytes) : report.error().message;
  }

  /// Stages over a connection of its own if there are at least so many bytes.
  void begin_direct(OneRun& one, std::uint64_t least) const {
    StageRunSettings settings;
    settings.own_addresses = [](std::size_t) { return std::vector<std::string>{"127.0.0.1"}; };
    settings.least_direct = least;
    settings.reach = Duration(300);
    begin(one, Duration(60'000), std::move(settings));
  }

  char base_[32] = "/tmp/dlaunch-run-XXXXXX";
  Environment env_;
  EventLoop loop_;
};

TEST_F(StageRunTest, TheSecondWaitsAndFindsItUnchanged) {
  OneRun a(*this, "a");
  OneRun b(*this, "b");
  a.holds = true;
  begin(a);
  run_until([&] { return fs::exists(path("home/.cache/dlaunch/claims")); });
  begin(b);
  run_until([&] { return !b.notes.empty(); });
  EXPECT_EQ(b.notes.at(0), "stage: waiting for run a, which stages " + path("to/data") +
                               " on gpu01, at most 1 min 00 s");
  a.run->cancel();
  a.holds = false;
  begin(a);
  EXPECT_EQ(end(a), "300000");
  EXPECT_EQ(end(b), "0");
  EXPECT_EQ(b.notes.size(), 1U);
}

TEST_F(StageRunTest, WaitingHasALimit) {
  OneRun a(*this, "a");
  OneRun b(*this, "b");
  a.holds = true;
  begin(a);
  run_until([&] { return fs::exists(path("home/.cache/dlaunch/claims")); });
  begin(b, Duration(100));
  EXPECT_EQ(end(b), "stage: run a, which stages " + path("to/data") +
                        " on gpu01, did not end within 100 ms");
}

TEST_F(StageRunTest, WhatIsInUseIsNotChanged) {
  OneRun a(*this, "a");
  OneRun b(*this, "b");
  begin(a);
  EXPECT_EQ(end(a), "300000");
  begin(b);
  EXPECT_EQ(end(b), "0") << "both use it";
  b.service->release();
  write("from", std::string(300'001, 'y'));
  begin(b);
  EXPECT_THAT(end(b), HasSubstr("gpu01: " + path("to/data") +
                                ": is in use by run a, and this staging would change it"));
  EXPECT_EQ(fs::file_size(path("to/data")), 300'000U);
  begin(a);
  EXPECT_EQ(end(a), "300001") << "its own use does not count";
  a.service->release();
  write("from", "short");
  begin(b);
  EXPECT_EQ(end(b), "5");
}

TEST_F(StageRunTest, ALargeFileGoesOverAConnectionOfItsOwn) {
  OneRun one(*this, "a");
  begin_direct(one, 300'001);
  EXPECT_EQ(end(one), "300000");
  EXPECT_THAT(one.ways, ElementsAre(0)) << "it is too small";
  one.service->release();
  write("from", std::string(300'001, 'y'));
  begin_direct(one, 300'001);
  EXPECT_EQ(end(one), "300001");
  EXPECT_THAT(one.ways, ElementsAre(0, 1));
  EXPECT_EQ((*one.report)->nodes.at(0).from_launcher, 300'001U);
  EXPECT_EQ(fs::file_size(path("to/data")), 300'001U);
}

TEST_F(StageRunTest, WithoutThatConnectionItGoesWithTheMessages) {
  OneRun one(*this, "a");
  one.is_strange = true;
  begin_direct(one, 0);
  EXPECT_EQ(end(one), "300000");
  EXPECT_THAT(one.ways, ElementsAre(1, 0));
  EXPECT_EQ((*one.report)->nodes.at(0).from_launcher, 300'000U);
  EXPECT_THAT((*one.report)->notes, ElementsAre()) << "many nodes do not reach the launcher";
}

TEST_F(StageRunTest, OnlyWhatIsSentInPartIsHashed) {
  std::string bytes(300'000, 'x');
  OneRun one(*this, "a");
  begin(one);
  EXPECT_EQ(end(one), "300000");
  EXPECT_EQ(one.hashes, 0);
  one.service->release();
  bytes[100'000] = 'y';
  write("from", bytes);
  begin(one);
  EXPECT_EQ(end(one), "65536");
  EXPECT_EQ(one.hashes, 1);
}

}  // namespace
}  // namespace dlaunch
