// A node that has come back, and what it says when it is asked whether the next attempt could use
// it.
#include "launch/session/return_check.h"

#include <cerrno>

#include <gmock/gmock.h>

#include "../fake_nodes.h"
#include "os/clock.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr NodeId kBack{7};

class ReturnCheckTest : public testing::Test {
 protected:
  ReturnCheckTest() {
    nodes_.cluster_.nodes[0] = with_facts(NodeId(0), "gpu01");
    spec_.command.argv = {"python3", "train.py"};
    spec_.workdir = "/home/me/job";
    spec_.nodes = NodeRange{1, 2};
    context_.attempt = Attempt(3);
    context_.run_folder = "/run-folder";
    context_.current_folder = "/";
    ReturnCheck::Listener listener;
    listener.passed = [this](NodeId node, Attempt attempt) {
      EXPECT_EQ(node, kBack);
      passed_.push_back(attempt.value);
    };
    listener.failed = [this](NodeId node, const std::string& what, bool is_new) {
      EXPECT_EQ(node, kBack);
      failed_.push_back((is_new ? "new: " : "") + what);
    };
    check_ = std::make_unique<ReturnCheck>(loop_, spec_, nodes_, listener);
  }

  static Node with_facts(NodeId id, const std::string& name) {
    Node node;
    node.id = id;
    node.name = name;
    NetworkInterface interface;
    interface.name = "eth0";
    interface.is_up = true;
    interface.addresses = {{"10.0.0." + std::to_string(id.value + 1), 24}};
    node.facts.interfaces = {interface};
    node.facts.cores = {{0, {0}, false}, {1, {1}, false}};
    node.facts.reserved_ports = {21000};
    return node;
  }
  void begin() { check_->begin(back_, Attempt(3), context_); }
  void answer(std::vector<StartFailure> missing, std::uint32_t attempt = 3) {
    check_->on(kBack, {Attempt(attempt), std::move(missing)});
  }

  EventLoop loop_;
  JobSpec spec_;
  FakeNodes nodes_{1};
  PlanContext context_;
  Node back_ = with_facts(kBack, "gpu02");
  std::unique_ptr<ReturnCheck> check_;
  std::vector<std::uint32_t> passed_;
  std::vector<std::string> failed_;
};

TEST_F(ReturnCheckTest, ANodeThatLacksNothingPasses) {
  begin();
  ASSERT_EQ(nodes_.sent<wire::CheckPrerequisites>().size(), 1U);
  EXPECT_EQ(nodes_.sent<wire::CheckPrerequisites>()[0].first, kBack);
  answer({}, 2);
  EXPECT_THAT(passed_, IsEmpty()) << "an answer of another attempt";
  answer({});
  EXPECT_EQ(passed_, std::vector<std::uint32_t>{3});
  answer({});
  EXPECT_EQ(passed_.size(), 1U) << "it is told once";
  EXPECT_THAT(failed_, IsEmpty());
}

TEST_F(ReturnCheckTest, OneThatLacksTheWorkdirDoesNotAndIsToldOnce) {
  const StartFailure workdir{StartFailure::Step::workdir, ENOENT, "/home/me/job", ""};
  for (int i = 0; i < 2; ++i) {
    begin();
    answer({workdir});
  }
  ASSERT_EQ(failed_.size(), 2U);
  EXPECT_THAT(failed_[0], HasSubstr("new: cannot enter the workdir \"/home/me/job\""));
  EXPECT_EQ("new: " + failed_[1], failed_[0]);
  begin();
  answer({});
  EXPECT_EQ(passed_.size(), 1U);
}

TEST_F(ReturnCheckTest, OneWithWhichNoPlanCanBeMadeDoesNot) {
  spec_.processes_per_node = {ProcessesPerNode::Kind::gpu, 0};
  GpuFact gpu;
  gpu.index = 0;
  nodes_.cluster_.nodes[0].facts.gpus = {gpu};
  begin();
  ASSERT_EQ(failed_.size(), 1U) << "it has lost its GPU";
  EXPECT_THAT(nodes_.sent_, IsEmpty());
}

TEST_F(ReturnCheckTest, ASpareIsCheckedAsOneOfTheNodes) {
  spec_.nodes = NodeRange{2, 2};
  nodes_.cluster_.nodes.push_back(with_facts(NodeId(1), "gpu02"));
  nodes_.cluster_.nodes.push_back(back_);
  check_->begin(back_, Attempt(3), context_);
  const auto sent = nodes_.sent<wire::CheckPrerequisites>();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].first, kBack);
  EXPECT_FALSE(check_->on(NodeId(1), {Attempt(3), {}})) << "another node";
  EXPECT_FALSE(check_->on(kBack, {Attempt(4), {}})) << "an answer for the attempt that follows";
  EXPECT_TRUE(check_->on(kBack, {Attempt(3), {}}));
  EXPECT_FALSE(check_->on(kBack, {Attempt(3), {}})) << "nothing is asked any more";
  EXPECT_EQ(passed_.size(), 1U);
}

TEST_F(ReturnCheckTest, WhatASyncBringsIsNotAskedFor) {
  spec_.sync.is_on = true;
  begin();
  EXPECT_EQ(passed_.size(), 1U);
  EXPECT_THAT(nodes_.sent_, IsEmpty());
}

TEST_F(ReturnCheckTest, OneThatDoesNotAnswerFailsInTime) {
  spec_.timeouts.connect = std::chrono::milliseconds(20);
  begin();
  const MonotonicTime due = monotonic_now() + std::chrono::seconds(10);
  while (failed_.empty() && monotonic_now() < due) loop_.run_one(due);
  ASSERT_EQ(failed_.size(), 1U);
  EXPECT_THAT(failed_[0], HasSubstr("no answer within"));
}

TEST_F(ReturnCheckTest, ALostOneGivesNoAnswer) {
  begin();
  check_->node_lost(kBack);
  answer({});
  EXPECT_THAT(passed_, IsEmpty());
  EXPECT_THAT(failed_, IsEmpty());
}

TEST_F(ReturnCheckTest, NorDoesOneWhoseCheckIsCancelled) {
  begin();
  check_->cancel();
  EXPECT_FALSE(check_->on(kBack, {Attempt(3), {}}));
  EXPECT_THAT(passed_, IsEmpty());
}

}  // namespace
}  // namespace dlaunch
