#include "launch/connect/ssh_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;

using Words = std::vector<std::string>;

HostSpec host(const std::string& name) {
  HostSpec spec;
  spec.name = name;
  return spec;
}

Words words(const Connect& connect, const HostSpec& to, bool may_ask = false) {
  const auto argv =
      connect_command(connect, to, {"exec /bin/sh -c 'x y'", std::chrono::seconds(29), may_ask});
  return argv ? *argv : Words{argv.error().message};
}

TEST(SshCommand, EndsWithTheHostBehindTheOptionsAndTheCommandAsOneWord) {
  const Words argv = words({}, host("gpu12"));
  ASSERT_GE(argv.size(), 5U);
  EXPECT_EQ(argv.front(), "ssh");
  EXPECT_THAT(Words(argv.end() - 3, argv.end()),
              ElementsAre("--", "gpu12", "exec /bin/sh -c 'x y'"));
}

TEST(SshCommand, SwitchesOffWhatWouldDisturbTheChannel) {
  // ssh_config(5): each of these, set by the user for other purposes, breaks a channel or is broken
  // by it.
  EXPECT_THAT(words({}, host("a")),
              IsSupersetOf({"-T", "ControlMaster=no", "ControlPath=none", "ClearAllForwardings=yes",
                            "ExitOnForwardFailure=no", "RemoteCommand=none", "RequestTTY=no",
                            "PermitLocalCommand=no", "ForwardX11=no", "ConnectTimeout=29",
                            "LogLevel=INFO", "VisualHostKey=no", "stdinnull=no",
                            "sessiontype=default", "forkafterauthentication=no"}));
}

TEST(SshCommand, AnOldSshGetsNoOptionThatItLacks) {
  const auto argv = connect_command({}, host("a"), {"x", std::chrono::seconds(9), false, 0, true});
  ASSERT_TRUE(argv);
  for (const std::string& word : *argv) {
    for (const char* name : {"stdinnull", "sessiontype", "forkafterauthentication"})
      EXPECT_EQ(word.find(name), std::string::npos) << word;
  }
  EXPECT_THAT(*argv, Contains("LogLevel=INFO"));
  // Of OpenSSH 8.4 (process_config_line_depth() in readconf.c), and what is the user's own.
  const std::string complaint = "Bad configuration option: ";
  EXPECT_TRUE(is_too_new_an_option("command-line: line 0: " + complaint + "stdinnull\r\n"));
  EXPECT_FALSE(
      is_too_new_an_option("/home/me/.ssh/config: line 3: " + complaint + "stdinnull\r\n"));
  EXPECT_FALSE(is_too_new_an_option("command-line: line 0: " + complaint + "usekeychain\r\n"));
}

TEST(SshCommand, TheLineToTryByHandCanBeTyped) {
  HostSpec to = host("gpu12");
  EXPECT_EQ(line_by_hand({}, to), "ssh -- gpu12 echo hello");
  to.user = "me";
  to.port = 2222;
  Connect connect;
  connect.ssh = "ssh -F my_config";
  connect.identity_file = "my key";
  EXPECT_EQ(line_by_hand(connect, to),
            "ssh -F my_config -l me -p 2222 -i 'my key' -- gpu12 echo hello");
  connect.via = Connect::Via::command;
  connect.command = {"kubectl", "exec", "-i", "{host}", "--", "sh", "-c"};
  EXPECT_EQ(line_by_hand(connect, to), "kubectl exec -i gpu12 -- sh -c 'echo hello'");
  connect.via = Connect::Via::slurm;
  EXPECT_EQ(line_by_hand(connect, to), "");
}

TEST(SshCommand, LeavesTheRestToTheUsersConfiguration) {
  const Words argv = words({}, host("a"));
  for (const std::string& word : argv) {
    EXPECT_EQ(word.find("HostKeyA"), std::string::npos) << word;
    EXPECT_EQ(word.find("StrictHostKey"), std::string::npos) << word;
    EXPECT_EQ(word.find("Agent"), std::string::npos) << word;
    EXPECT_EQ(word.find("Alive"), std::string::npos) << word;
  }
  EXPECT_THAT(argv, Not(Contains(testing::AnyOf("-l", "-p", "-i", "-F", "-A", "-x"))));
}

TEST(SshCommand, AsksNothingUnlessSomebodyCanAnswer) {
  EXPECT_THAT(words({}, host("a")), Contains("BatchMode=yes"));
  EXPECT_THAT(words({}, host("a"), true), Not(Contains("BatchMode=yes")));
}

TEST(SshCommand, UserPortAndIdentityAreWordsOfTheirOwn) {
  HostSpec to = host("a");
  to.user = "me";
  to.port = 2222;
  Connect connect;
  connect.identity_file = "~/my keys/id";
  const Words argv = words(connect, to);
  const auto after = [&](const std::string& option) {
    const auto at = std::find(argv.begin(), argv.end(), option);
    return at == argv.end() ? "" : *(at + 1);
  };
  EXPECT_EQ(after("-l"), "me");
  EXPECT_EQ(after("-p"), "2222");
  EXPECT_EQ(after("-i"), "~/my keys/id");
}

TEST(SshCommand, TheAddressIsForTheOtherNodesNotForSsh) {
  HostSpec to = host("gpu12");
  to.address = "10.0.0.12";
  for (const std::string& word : words({}, to))
    EXPECT_EQ(word.find("10.0.0.12"), std::string::npos);
}

TEST(SshCommand, AProgramWithOptionsIsSplitAtBlanks) {
  Connect connect;
  connect.ssh = "/opt/ssh/bin/ssh -F my_config";
  const Words argv = words(connect, host("a"));
  EXPECT_THAT(Words(argv.begin(), argv.begin() + 4),
              ElementsAre("/opt/ssh/bin/ssh", "-F", "my_config", "-T"));
  EXPECT_EQ(program_of(connect), "/opt/ssh/bin/ssh");
}

TEST(SshCommand, ATemplateIsFilledAndTheCommandAppended) {
  HostSpec to = host("pod-3");
  to.user = "me";
  Connect connect;
  connect.command = {"kubectl", "exec", "-i", "{host}", "--as={user}:{port}", "--", "sh", "-c"};
  EXPECT_THAT(words(connect, to), ElementsAre("kubectl", "exec", "-i", "pod-3", "--as=me:22", "--",
                                              "sh", "-c", "exec /bin/sh -c 'x y'"));
  EXPECT_EQ(program_of(connect), "kubectl");
}

TEST(SshCommand, ATemplateMaySayWhereTheCommandStands) {
  Connect connect;
  connect.command = {"in", "{host}", "run={command}", "last {"};
  EXPECT_THAT(words(connect, host("{user}")),
              ElementsAre("in", "{user}", "run=exec /bin/sh -c 'x y'", "last {"));
}

TEST(SshCommand, ATemplateWithAUserNeedsOne) {
  Connect connect;
  connect.command = {"rsh", "-l", "{user}", "{host}"};
  EXPECT_THAT(words(connect, host("a")),
              ElementsAre("connect.command has {user}, but no user is given for a"));
}

TEST(SshCommand, ViaSshMeansSshAlsoBesideATemplate) {
  Connect connect;
  connect.command = {"rsh", "{host}"};
  connect.via = Connect::Via::ssh;
  EXPECT_EQ(words(connect, host("a")).front(), "ssh");
}

}  // namespace
}  // namespace dlaunch
