#include "launch/questions/py_spy_delivery.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include <elf.h>
#include <sys/stat.h>

#include <gmock/gmock.h>

#include "../launch/run_socket_fixture.h"
#include "launch/questions/own_py_spy.h"
#include "launch/questions/stack_rounds.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t kSize = 3 << 20;  // more than a node is sent at once

/// Nodes of which node 0 lacks a py-spy until it has been brought one.
class PySpyDeliveryTest : public RunSocketTest {
 protected:
  PySpyDeliveryTest() {
    std::string bytes;
    for (std::uint32_t i = 0; bytes.size() < kSize; ++i) bytes += std::to_string(i) + '\n';
    bytes.resize(kSize);
    std::ofstream(program_) << bytes;
  }
  ~PySpyDeliveryTest() override { std::filesystem::remove(program_); }

  void ask(std::vector<std::string> reader,
           std::chrono::milliseconds limit = StackRounds::kAnswerLimit) {
    rounds_.emplace(loop_, nodes_, std::move(reader), limit);
    rounds_->set_plan(&plan_);
    ask_again();
  }
  void ask_again() {
    reply_.reset();
    rounds_->ask({{}, "/opt/bin", false}, [this](StacksReply reply) { reply_ = std::move(reply); });
  }
  [[nodiscard]] wire::StacksTaken answer(std::uint32_t node, bool lacks_py_spy) const {
    wire::StacksTaken taken{plan_.attempt, asked().back().second.id, "", {}};
    for (const RankPlan& rank : plan_.ranks) {
      if (rank.node != NodeRank(node)) continue;
      taken.ranks.emplace_back().rank = rank.rank;
      taken.ranks.back().lacks_py_spy = lacks_py_spy;
    }
    return taken;
  }
  void say(std::uint32_t node, wire::StacksTaken taken) { rounds_->on(NodeId(node), taken); }
  [[nodiscard]] std::vector<std::pair<NodeId, wire::TakeStacks>> asked() const {
    return nodes_.sent<wire::TakeStacks>();
  }
  [[nodiscard]] std::vector<std::pair<NodeId, wire::PySpyData>> pieces() const {
    return nodes_.sent<wire::PySpyData>();
  }
  /// What node 0 has, as it takes each piece that was sent.
  std::string receive() {
    std::string received;
    for (std::size_t next = 0; received.size() < kSize; ++next) {
      run_until([&] { return pieces().size() > next; });
      if (pieces().size() <= next) break;
      const auto [node, piece] = pieces()[next];
      EXPECT_EQ(node, NodeId(0));
      EXPECT_EQ(piece.offset, received.size());
      EXPECT_EQ(piece.size, kSize);
      received += piece.bytes;
      rounds_->on(NodeId(0), wire::PySpyTaken{received.size(), ""});
    }
    return received;
  }

  const std::string program_ = run_.path + "/program";
  std::optional<StackRounds> rounds_;
  std::optional<StacksReply> reply_;
};

TEST_F(PySpyDeliveryTest, ANodeThatLacksOneIsBroughtItAndAskedAgain) {
  ask({"cat", program_});
  say(1, answer(1, false));
  say(0, answer(0, true));
  EXPECT_FALSE(reply_);
  std::ifstream file(program_);
  EXPECT_EQ(receive(), std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_EQ(asked().size(), 3U);
  const auto [node, again] = asked().back();
  EXPECT_EQ(node, NodeId(0));
  EXPECT_EQ(again.id, asked().front().second.id);
  EXPECT_EQ(again.ranks, (std::vector{Rank(0), Rank(1)}));
  wire::StacksTaken complete = answer(0, false);
  complete.ranks[1].remarks = {"complete"};
  say(0, complete);
  ASSERT_TRUE(reply_);
  EXPECT_TRUE(reply_->silent.empty());
  ASSERT_EQ(reply_->ranks.size(), 4U);
  EXPECT_TRUE(reply_->ranks[0].remarks.empty());
  EXPECT_THAT(reply_->ranks[1].remarks, testing::ElementsAre("complete"));
}

TEST_F(PySpyDeliveryTest, ItIsSentOnceAndOnlyToANodeThatLacksIt) {
  ask({"cat", program_});
  say(1, answer(1, false));
  say(0, answer(0, true));
  (void)receive();
  say(0, answer(0, false));
  const std::size_t sent = pieces().size();
  ask_again();
  say(0, answer(0, false));
  say(1, answer(1, false));
  ASSERT_TRUE(reply_);
  EXPECT_EQ(pieces().size(), sent);
}

TEST_F(PySpyDeliveryTest, OnlyAWindowOfItIsOnTheWay) {
  ask({"cat", program_});
  say(0, answer(0, true));
  run_until([&] { return !pieces().empty(); });
  std::size_t sent = 0;
  for (const auto& [node, piece] : pieces()) sent += piece.bytes.size();
  EXPECT_LE(sent, 2 * sync::Window::kFirst);
}

TEST_F(PySpyDeliveryTest, WithoutOneTheAnswerSaysWhy) {
  ask({"sh", "-c", "echo because >&2; exit 1"});
  say(1, answer(1, false));
  say(0, answer(0, true));
  run_until([&] { return reply_.has_value(); });
  ASSERT_TRUE(reply_);
  ASSERT_EQ(reply_->ranks.size(), 4U);
  EXPECT_THAT(
      reply_->ranks[0].remarks,
      testing::ElementsAre("the node has no py-spy, so Python frames are missing; because"));
  EXPECT_TRUE(reply_->ranks[2].remarks.empty());
  EXPECT_TRUE(pieces().empty());
}

TEST_F(PySpyDeliveryTest, ANodeThatCannotKeepItSaysWhy) {
  ask({"cat", program_});
  say(1, answer(1, false));
  say(0, answer(0, true));
  run_until([&] { return !pieces().empty(); });
  rounds_->on(NodeId(0), wire::PySpyTaken{0, "no memory for it"});
  ASSERT_TRUE(reply_);
  EXPECT_THAT(reply_->ranks[0].remarks, testing::ElementsAre(HasSubstr("on the node: no memory for it")));
}

TEST_F(PySpyDeliveryTest, WhatArrivesTooLateServesTheNextQuestion) {
  ask({"cat", program_}, std::chrono::milliseconds(300));
  say(1, answer(1, false));
  say(0, answer(0, true));
  run_until([&] { return reply_.has_value(); });
  ASSERT_TRUE(reply_);
  EXPECT_THAT(reply_->ranks[0].remarks, testing::ElementsAre(HasSubstr("ask again")));
  EXPECT_TRUE(reply_->silent.empty());
  (void)receive();  // it has gone on
  EXPECT_EQ(asked().size(), 2U);
}

TEST_F(PySpyDeliveryTest, TheFirstAnswerIsGoodIfTheSecondIsNone) {
  ask({"cat", program_});
  say(1, answer(1, false));
  say(0, answer(0, true));
  (void)receive();
  wire::StacksTaken failed = answer(0, false);
  failed.ranks.clear();
  failed.problem = "reading the stacks took longer than 5000 ms";
  say(0, failed);
  ASSERT_TRUE(reply_);
  EXPECT_EQ(reply_->ranks.size(), 4U);
  EXPECT_TRUE(reply_->silent.empty());
  EXPECT_THAT(reply_->ranks[0].remarks,
              testing::ElementsAre(HasSubstr("reading the stacks took longer")));
}

TEST_F(PySpyDeliveryTest, ANodeThatIsLostMeanwhileIsSentNothingMore) {
  ask({"cat", program_});
  say(1, answer(1, false));
  say(0, answer(0, true));
  run_until([&] { return !pieces().empty(); });
  const std::size_t sent = pieces().size();
  rounds_->node_lost(NodeId(0));
  ASSERT_TRUE(reply_);
  EXPECT_THAT(reply_->silent, testing::ElementsAre("node0: the node is lost"));
  rounds_->on(NodeId(0), wire::PySpyTaken{pieces().front().second.bytes.size(), ""});
  EXPECT_EQ(pieces().size(), sent);
}

/// A folder with a py-spy in it.
class OwnPySpyTest : public testing::Test {
 protected:
  OwnPySpyTest() {
    std::ifstream own("/proc/self/exe");
    own.read(reinterpret_cast<char*>(&header_), sizeof header_);
    header_.e_type = ET_DYN;
    header_.e_entry = 0x1000;
    header_.e_phoff = sizeof header_;
    header_.e_phnum = 2;
    header_.e_shoff = header_.e_shnum = 0;
    parts_[0].p_type = PT_LOAD;
    parts_[1].p_type = PT_DYNAMIC;
    EXPECT_NE(::mkdtemp(folder_), nullptr);
    path_ = std::string(folder_) + "/py-spy";
  }
  ~OwnPySpyTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string bytes() const {
    return std::string(reinterpret_cast<const char*>(&header_), sizeof header_) +
           std::string(reinterpret_cast<const char*>(parts_), sizeof parts_) + "code";
  }
  void write(const std::string& content, mode_t mode = 0755) {
    std::filesystem::remove(path_);
    std::ofstream(path_) << content;
    ::chmod(path_.c_str(), mode);
  }
  [[nodiscard]] std::string why_not(const std::string& more = "") const {
    const auto found = read_own_py_spy(more + folder_);
    return found ? "" : found.error().message;
  }

  Elf64_Ehdr header_{};
  Elf64_Phdr parts_[2]{};
  char folder_[32] = "/tmp/py-spy-test-XXXXXX";
  std::string path_;
};

TEST_F(OwnPySpyTest, AStaticProgramOfThisUserIsReadWhole) {
  EXPECT_EQ(why_not(), "this machine has no py-spy to send (pip install py-spy)");
  write(bytes());
  EXPECT_EQ(read_own_py_spy(folder_).value_or(""), bytes());
  EXPECT_EQ(why_not("::relative:/does/not/exist:"), "");
}

TEST_F(OwnPySpyTest, OneThatOthersMayWriteIsNotSent) {
  for (const mode_t mode : {0757, 0777, 0722}) {
    write(bytes(), mode);
    EXPECT_THAT(why_not(), StartsWith(path_)) << mode;
    EXPECT_THAT(why_not(), HasSubstr("may write to it")) << mode;
  }
  write(bytes(), 0775);
  const bool is_private = ::geteuid() != 0 && ::getegid() == ::geteuid();
  EXPECT_EQ(why_not().empty(), is_private);
}

TEST_F(OwnPySpyTest, OneThatIsNotExecutableIsNotSent) {
  write(bytes(), 0644);
  EXPECT_EQ(why_not(),
            path_ + " on this machine is not sent, because it is not executable (chmod +x)");
}

TEST_F(OwnPySpyTest, OneOfAnotherUserIsNotSent) {
  write(bytes());
  if (::chown(path_.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root may give files away";
  EXPECT_THAT(why_not(), HasSubstr("belongs to another user"));
}

TEST_F(OwnPySpyTest, WhatIsNoStaticProgramForTheseProcessorsIsNotSent) {
  write("#!/bin/sh\nexec python -m py_spy\n");
  EXPECT_THAT(why_not(), HasSubstr("a script"));
  write("");
  EXPECT_THAT(why_not(), HasSubstr("because"));
  parts_[1].p_type = PT_INTERP;
  write(bytes());
  EXPECT_THAT(why_not(), HasSubstr("needs libraries"));
  parts_[1].p_type = PT_DYNAMIC;
  header_.e_machine = EM_S390;
  write(bytes());
  EXPECT_THAT(why_not(), HasSubstr("for another kind of processor"));
  std::filesystem::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0755), 0);
  EXPECT_THAT(why_not(), HasSubstr("it is not a regular file"));
}

TEST_F(OwnPySpyTest, AGoodOneBehindABadOneIsFound) {
  char other[] = "/tmp/py-spy-test-XXXXXX";
  ASSERT_NE(::mkdtemp(other), nullptr);
  std::ofstream(std::string(other) + "/py-spy") << "#!/bin/sh\n";
  write(bytes());
  EXPECT_EQ(why_not(std::string(other) + ':'), "");
  std::filesystem::remove_all(other);
}

}  // namespace
}  // namespace dlaunch
