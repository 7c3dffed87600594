// The command lines of connectors, and how each interprets the end of its program. The table and
// the words of connect.via are the same list.
#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobfile/field_table.h"
#include "launch/connect/connector.h"

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

/// argv of the job's connector; auto: ssh, or a command of the user's own.
Words words(const Connect& connect, const HostSpec& to, const ConnectRequest& more = {}) {
  const bool is_ssh = connect.via == Connect::Via::ssh || connect.command.empty();
  ConnectRequest request = more;
  request.remote_command = "exec /bin/sh -c 'x y'";
  request.timeout = std::chrono::seconds(29);
  const auto argv = find_connector(is_ssh ? "ssh" : "command")->argv(connect, to, request);
  return argv ? *argv : Words{argv.error().message};
}

TEST(Connectors, AreTheWordsOfConnectVia) {
  Words names = {"auto"};
  for (const Connector* one : connectors()) names.emplace_back(one->name);
  Words known;
  for (const jobfile::Keyword& word : jobfile::find_field("connect.via")->words)
    known.emplace_back(word.text);
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(known));
  EXPECT_EQ(find_connector("auto"), nullptr);
  for (const jobfile::Field& field : jobfile::fields()) {
    std::istringstream listed{std::string(field.connectors)};
    for (std::string name; listed >> name;) EXPECT_THAT(known, Contains(name)) << field.key;
  }
}

TEST(Connectors, OnlyThisMachineIsThereWithoutAWayBack) {
  for (const Connector* one : connectors()) EXPECT_EQ(one->can_attach, one->name != "local");
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
  ConnectRequest old;
  old.old_program = true;
  const Words argv = words({}, host("a"), old);
  for (const std::string& word : argv) {
    for (const char* name : {"stdinnull", "sessiontype", "forkafterauthentication"})
      EXPECT_EQ(word.find(name), std::string::npos) << word;
  }
  EXPECT_THAT(argv, Contains("LogLevel=INFO"));
}

// OpenSSH 8.4 (process_config_line_depth() in readconf.c), and what is the user's own.
TEST(SshCommand, AnSshThatRefusesAnOptionIsTooOldForItOnce) {
  const std::string complaint = "Bad configuration option: ";
  ConnectEnd end{255 << 8, "ssh", "command-line: line 0: " + complaint + "stdinnull\r\n", ""};
  const auto kind = [&] { return find_connector("ssh")->failure(end).kind; };
  EXPECT_EQ(kind(), ConnectFailure::Kind::too_old);
  end.old_program = true;
  EXPECT_EQ(kind(), ConnectFailure::Kind::final);
  end.old_program = false;
  end.errors = "/home/me/.ssh/config: line 3: " + complaint + "stdinnull\r\n";
  EXPECT_EQ(kind(), ConnectFailure::Kind::final);
  end.errors = "command-line: line 0: " + complaint + "usekeychain\r\n";
  EXPECT_EQ(kind(), ConnectFailure::Kind::final);
}

TEST(Connectors, TheLineToTryByHandCanBeTyped) {
  const Connector& ssh = *find_connector("ssh");
  HostSpec to = host("gpu12");
  EXPECT_EQ(ssh.by_hand({}, to), "ssh -- gpu12 echo hello");
  to.user = "me";
  to.port = 2222;
  Connect connect;
  connect.ssh = "ssh -F my_config";
  connect.identity_file = "my key";
  EXPECT_EQ(ssh.by_hand(connect, to),
            "ssh -F my_config -l me -p 2222 -i 'my key' -- gpu12 echo hello");
  connect.command = {"docker", "exec", "-i", "{host}", "sh", "-c"};
  EXPECT_EQ(find_connector("command")->by_hand(connect, to),
            "docker exec -i gpu12 sh -c 'echo hello'");
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

TEST(SshCommand, AsksNothingUnlessTheUserCanAnswer) {
  EXPECT_THAT(words({}, host("a")), Contains("BatchMode=yes"));
  ConnectRequest asking;
  asking.may_ask = true;
  EXPECT_THAT(words({}, host("a"), asking), Not(Contains("BatchMode=yes")));
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
  EXPECT_EQ(find_connector("ssh")->program(connect), "/opt/ssh/bin/ssh");
}

TEST(CommandConnector, ATemplateIsFilledAndTheCommandAppended) {
  HostSpec to = host("pod-3");
  to.user = "me";
  Connect connect;
  connect.command = {"docker", "exec", "-i", "{host}", "--as={user}:{port}", "--", "sh", "-c"};
  EXPECT_THAT(words(connect, to), ElementsAre("docker", "exec", "-i", "pod-3", "--as=me:22", "--",
                                              "sh", "-c", "exec /bin/sh -c 'x y'"));
  EXPECT_EQ(find_connector("command")->program(connect), "docker");
}

TEST(CommandConnector, ATemplateMaySayWhereTheCommandStands) {
  Connect connect;
  connect.command = {"in", "{host}", "run={command}", "last {"};
  EXPECT_THAT(words(connect, host("{user}")),
              ElementsAre("in", "{user}", "run=exec /bin/sh -c 'x y'", "last {"));
}

TEST(CommandConnector, ATemplateWithAUserNeedsOne) {
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
