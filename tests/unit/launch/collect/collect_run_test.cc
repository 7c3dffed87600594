#include "launch/collect/collect_run.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "node/stage/collect_service.h"
#include "os/clock.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

/// Nodes of this process; what they and the launcher tell each other may be changed on its way.
class CollectRunTest : public testing::Test {
 protected:
  CollectRunTest() {
    std::string name = (fs::temp_directory_path() / "dlaunch-collect-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~CollectRunTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + '/' + name; }
  void write(const std::string& name, const std::string& bytes) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void add_node(std::vector<StageItem> items) {
    const auto number = static_cast<std::uint32_t>(settings_.nodes.size());
    settings_.nodes.push_back({NodeId(number), "node" + std::to_string(number), std::move(items)});
    services_.emplace(
        std::piecewise_construct, std::forward_as_tuple(NodeId(number)),
        std::forward_as_tuple(loop_, env_, [this, number](wire::CollectAnswer answer) {
          if (change_) change_(answer);
          loop_.post([this, number, answer = std::move(answer)]() mutable {
            std::visit([&](auto& one) { run_.on(NodeId(number), one); }, answer);
          });
        }));
  }

  CollectReport collect() {
    settings_.limit = std::chrono::seconds(20);
    run_.begin(settings_);
    const MonotonicTime limit = monotonic_now() + std::chrono::seconds(25);
    while (!report_ && monotonic_now() < limit) loop_.run_one(limit);
    EXPECT_TRUE(report_);
    return report_.value_or(CollectReport());
  }

  void deliver(NodeId node, wire::ToAgent message) {
    if (silent_.contains(node)) return;
    loop_.post([this, node, message = std::move(message)]() mutable {
      std::visit(
          [&](auto& one) {
            using Message = std::remove_cvref_t<decltype(one)>;
            if constexpr (wire::OneOf<Message, wire::StageAnswer> ||
                          std::is_same_v<Message, wire::CollectBegin>)
              services_.at(node).on(one);
          },
          message);
    });
  }

  std::string folder_;
  EventLoop loop_;
  const Environment env_{{"HOME", "/nowhere"}};
  CollectSettings settings_;
  std::set<NodeId> silent_;
  std::function<void(wire::CollectAnswer&)> change_;
  std::optional<CollectReport> report_;
  std::map<NodeId, CollectService> services_;
  CollectRun run_{
      loop_,
      {.send = [this](NodeId node, wire::ToAgent message) { deliver(node, std::move(message)); },
       .done = [this](CollectReport report) { report_ = std::move(report); },
       .show = [](const std::string&) {}}};
};

TEST_F(CollectRunTest, FilesOfEachNodeArrive) {
  write("a/x/file", std::string(200'000, 'x'));
  write("b/other", "other");
  add_node({{path("a"), path("to/a")}, {path("none"), path("to/none")}});
  add_node({{path("b/other"), path("to/b/")}});
  const CollectReport report = collect();
  ASSERT_EQ(report.nodes.size(), 2U);
  EXPECT_TRUE(report.is_whole());
  EXPECT_EQ(report.nodes[0].files, 1U);
  EXPECT_EQ(report.nodes[0].bytes, 200'000U);
  EXPECT_EQ(report.nodes[0].missing, std::vector<std::string>{path("none")});
  EXPECT_EQ(read("to/a/x/file"), std::string(200'000, 'x'));
  EXPECT_EQ(read("to/b/other"), "other");
}

TEST_F(CollectRunTest, ManyNodesTakeTurns) {
  for (int i = 0; i < 40; ++i) {
    const std::string number = std::to_string(i);
    write("from/" + number, number);
    add_node({{path("from/" + number), path("to/" + number)}});
  }
  EXPECT_TRUE(collect().is_whole());
  for (int i = 0; i < 40; ++i) EXPECT_EQ(read("to/" + std::to_string(i)), std::to_string(i));
}

TEST_F(CollectRunTest, ANodeThatCannotBeAskedIsAProblem) {
  write("a/file", "a");
  add_node({{path("a"), path("to/a")}});
  add_node({{path("a"), path("to/b")}});
  settings_.nodes[1].problem = "was lost";
  const CollectReport report = collect();
  EXPECT_FALSE(report.is_whole());
  EXPECT_EQ(report.nodes[1].problem, "was lost");
  EXPECT_EQ(read("to/a/file"), "a");
}

TEST_F(CollectRunTest, ANodeThatIsLostMeanwhileIsAProblem) {
  write("a/file", "a");
  add_node({{path("a"), path("to/a")}});
  add_node({{path("a"), path("to/b")}});
  silent_.insert(NodeId(1));
  change_ = [this](wire::CollectAnswer& answer) {
    if (std::holds_alternative<wire::CollectDone>(answer)) run_.node_lost(NodeId(1), "was lost");
  };
  const CollectReport report = collect();
  EXPECT_EQ(report.nodes[0].problem, "");
  EXPECT_EQ(report.nodes[1].problem, "was lost");
}

TEST_F(CollectRunTest, ASilentNodeEndsWithTheLimit) {
  add_node({{path("a"), path("to/a")}});
  silent_.insert(NodeId(0));
  settings_.limit = std::chrono::milliseconds(1);
  run_.begin(settings_);
  while (!report_) loop_.run_one();
  EXPECT_THAT(report_->nodes[0].problem, HasSubstr("did not finish within"));
}

// A node writes what it was asked for where that belongs, whatever it says.
TEST_F(CollectRunTest, ANodeCannotWriteElsewhere) {
  write("a/file", "a");
  write("precious/file", "precious");
  add_node({{path("a"), path("to/a")}});
  add_node({{path("a/file"), path("to/file")}});
  change_ = [this](wire::CollectAnswer& answer) {
    auto* const begin = std::get_if<wire::StageBegin>(&answer);
    if (begin != nullptr && begin->roots.front() == path("to/a")) begin->roots = {path("precious")};
    auto* const entries = std::get_if<wire::StageEntries>(&answer);
    if (entries != nullptr && !entries->entries.empty()) entries->entries[0].entry.path = "beside";
  };
  const CollectReport report = collect();
  EXPECT_EQ(report.nodes[0].problem, "its agent sent data that was not requested");
  EXPECT_EQ(report.nodes[1].problem, "its agent sent data that was not requested");
  EXPECT_EQ(read("precious/file"), "precious");
  EXPECT_FALSE(fs::exists(path("precious/beside")));
  EXPECT_FALSE(fs::exists(path("to/beside")));
}

TEST_F(CollectRunTest, ALinkInThePlaceOfTheTargetIsRefused) {
  write("a/file", "a");
  fs::create_directories(path("precious"));
  add_node({{path("a"), path("to/a")}});
  change_ = [this](wire::CollectAnswer& answer) {
    if (auto* begin = std::get_if<wire::StageBegin>(&answer)) begin->roots = {path("to")};
    if (auto* entries = std::get_if<wire::StageEntries>(&answer))
      entries->entries = {{0, {"a", SyncEntry::Kind::link, 0, 0, 0, path("precious")}, ""}};
  };
  EXPECT_EQ(collect().nodes[0].problem, "its agent sent data that was not requested");
  EXPECT_FALSE(fs::is_symlink(path("to/a")));
}

// It could go on below a link of the first one.
TEST_F(CollectRunTest, ASecondBeginningIsRefused) {
  write("a/file", "a");
  add_node({{path("a"), path("to/a")}});
  change_ = [this](wire::CollectAnswer& answer) {
    if (const auto* begin = std::get_if<wire::StageBegin>(&answer))
      loop_.post([this, again = *begin]() mutable { run_.on(NodeId(0), again); });
  };
  EXPECT_EQ(collect().nodes[0].problem, "its agent sent data that was not requested");
}

TEST_F(CollectRunTest, NothingListensAndNothingIsConnected) {
  write("a/file", "a");
  for (const bool serves : {true, false}) add_node({{path("a"), path(serves ? "to/0" : "to/1")}});
  int begun = 0;
  change_ = [&begun](wire::CollectAnswer& answer) {
    if (!std::holds_alternative<wire::StageFeed>(answer)) return;
    if (begun++ == 0) {
      answer = wire::StageServe{1, 1, {}, {"127.0.0.1"}, 5000};
    } else {
      std::get<wire::StageFeed>(answer).at = {{"127.0.0.1", 9}};
    }
  };
  const CollectReport report = collect();
  EXPECT_EQ(report.nodes[0].problem, "its agent sent data that was not requested");
  EXPECT_EQ(report.nodes[1].problem, "its agent sent data that was not requested");
}

TEST_F(CollectRunTest, NothingIsRemovedHere) {
  write("a/file", "a");
  write("to/a/own", "own");
  add_node({{path("a"), path("to/a")}});
  change_ = [this](wire::CollectAnswer& answer) {
    if (auto* begin = std::get_if<wire::StageBegin>(&answer))
      begin->origins = {{"node:" + path("a"), ""}};
  };
  EXPECT_TRUE(collect().is_whole());
  EXPECT_EQ(read("to/a/own"), "own");
}

}  // namespace
}  // namespace dlaunch
