// When the connector answers, and what. Connections are real, over commands other than ssh.
#include "launch/connect/node_connector.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "os/clock.h"

namespace dlaunch {
namespace {

class NodeConnectorTest : public testing::Test {
 protected:
  NodeConnector::Settings settings() {
    targets_.resize(1);
    targets_[0].host.name = "node1";
    targets_[0].connector = find_connector("command");
    NodeConnector::Settings its;
    its.connect.via = Connect::Via::command;
    its.connect.command = {"/nonexistent/ssh", "{host}"};
    its.timeout = timeout_;
    its.build_id = "abc";
    return its;
  }
  NodeConnector::Opened note() {
    return [this](Result<Connection> result) {
      ++answers_;
      if (!result) said_ = result.error().message;
    };
  }
  void turn_until_answered() {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (answers_ == 0 && loop_.run_one(end)) {
    }
  }

  EventLoop loop_;
  std::vector<NodeTarget> targets_;
  int answers_ = 0;
  std::string said_;
  Duration timeout_ = std::chrono::seconds(20);
};

/// A connector whose program does not exist.
class NoProgram : public NodeConnectorTest {
 protected:
  NodeConnector connector_{loop_, targets_, settings()};
};

/// A node on which `script` runs in place of each command: $s starts an answer, $1 is the command.
class ScriptedNode : public NodeConnectorTest {
 protected:
  void open(const std::string& script) {
    std::signal(SIGPIPE, SIG_IGN);  // as the engine does
    connector_ = nullptr;
    NodeConnector::Settings its = settings();
    its.connect.command = {"/bin/sh", "-c", "s=@dlaunch:0000000000000000; " + script, "node"};
    connector_ = std::make_unique<NodeConnector>(loop_, targets_, its);
    connector_->open(NodeId(0), Purpose::fresh, note());
    turn_until_answered();
  }
  std::unique_ptr<NodeConnector> connector_;
};

TEST_F(ScriptedNode, WhatEndsAtOnceAlsoWhenItWasStagedAnewIsNotStagedForEver) {
  // It looks for a binary, or is told at once to receive one.
  open(
      "case $1 in *go*) ;; *) echo $s missing $(uname -m); read -r line;; esac; echo $s started; "
      "exit 3");
  EXPECT_EQ(said_,
            "dlaunch was started there and ended with code 3 before it answered; try on the node: "
            "~/.cache/dlaunch/abc/dlaunch --version");
}

TEST_F(ScriptedNode, AProgramThatWasStartedAndHangsIsNotTheLoginShell) {
  timeout_ = std::chrono::milliseconds(600);
  open("echo Welcome; echo $s started; exec sleep 20");
  EXPECT_EQ(said_, "no connection within 600 ms: dlaunch was started there but did not answer");
}

TEST_F(ScriptedNode, AnSshThatLacksAnOptionIsAskedWithoutIt) {
  const std::string folder = testing::TempDir() + "old-ssh-" + std::to_string(::getpid());
  std::ofstream(folder) << "#!/bin/sh\ncase \"$*\" in *stdinnull*) echo 'command-line: line 0: Bad "
                           "configuration option: stdinnull' >&2; exit 255;; esac\necho "
                           "@dlaunch:0000000000000000 failed as an old one\n";
  ::chmod(folder.c_str(), 0700);
  NodeConnector::Settings its = settings();
  targets_[0].connector = find_connector("ssh");
  its.connect = Connect();
  its.connect.ssh = folder;
  NodeConnector connector(loop_, targets_, its);
  connector.open(NodeId(0), Purpose::fresh, note());
  turn_until_answered();
  EXPECT_EQ(said_, "as an old one");
  std::filesystem::remove(folder);
}

TEST_F(NoProgram, AProgramThatIsNotThereIsAnAnswer) {
  connector_.open(NodeId(0), Purpose::fresh, note());
  turn_until_answered();
  EXPECT_EQ(answers_, 1);
  EXPECT_NE(said_.find("/nonexistent/ssh"), std::string::npos) << said_;
}

TEST_F(NoProgram, WhoCancelsInTheTurnOfTheAnswerGetsNone) {
  connector_.open(NodeId(0), Purpose::fresh, note());
  // The turn in which it fails; the answer is given in the next one.
  ASSERT_TRUE(loop_.run_one(monotonic_now() + std::chrono::seconds(20)));
  ASSERT_EQ(answers_, 0);
  connector_.cancel(NodeId(0));
  loop_.poll();
  EXPECT_EQ(answers_, 0);
}

TEST_F(NoProgram, WhoAsksAgainInThatTurnGetsOneAnswer) {
  connector_.open(NodeId(0), Purpose::fresh, note());
  ASSERT_TRUE(loop_.run_one(monotonic_now() + std::chrono::seconds(20)));
  connector_.open(NodeId(0), Purpose::fresh, note());
  turn_until_answered();
  loop_.poll();
  EXPECT_EQ(answers_, 1);
}

}  // namespace
}  // namespace dlaunch
