#include "report/own_messages.h"

#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/exit_status.h"
#include "model/job_spec.h"
#include "supervise/wording.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The string literals of our sources; those of an expression without anything between them.
std::string literals_of_sources() {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(DLAUNCH_DOCS "/../src")) {
    if (entry.path().extension() != ".cc" || entry.path().filename() == "own_messages.cc" ||
        entry.path().filename() == "known_failures.cc")
      continue;
    bool is_inside = false;
    const std::string source = text_of(entry.path());
    for (std::size_t i = 0; i < source.size(); ++i) {
      const std::string_view rest = std::string_view(source).substr(i);
      if (rest.starts_with("R\"sh(")) {  // a shell script
        const std::size_t end = source.find(")sh\"", i);
        all += source.substr(i, end - i);
        i = end + 3;
      } else if (is_inside && source[i] == '\\') {
        all += source[++i];
      } else if (!is_inside && rest.starts_with("//")) {
        i = source.find('\n', i);
      } else if (!is_inside && (rest.starts_with("'\"'") || rest.starts_with("'\\\"'"))) {
        i = source.find('\'', i + 1);
        all += '"';
      } else if (source[i] == '"') {
        is_inside = !is_inside;
      } else if (is_inside) {
        all += source[i];
      } else if (source[i] == ',' || source[i] == ';') {
        all += '\n';
      }
    }
  }
  return all;
}

/// The words of errno and of getaddrinfo(3), which both put behind theirs.
std::string words_of_the_system() {
  std::string all;
  for (const int error : {ECONNREFUSED, ETIMEDOUT, ECONNRESET, EHOSTUNREACH, ENETUNREACH, ENOENT})
    all += std::string(std::strerror(error)) + '\n';
  return all + ::gai_strerror(EAI_AGAIN) + '\n';
}

/// What stands between the words that stand for something, and between ": " and ", ", where
/// messages are often put together.
std::vector<std::string> fixed_parts(std::string text) {
  static const std::regex kWords(
      R"(\b(DIR|FAULT|FILE|HOST|METHODS|N|NAME|NODES|PROGRAM|RANKS|SCRIPT|SIZE|TEXT|TIME|USER|WHAT)\b|[:,] )");
  std::vector<std::string> parts;
  const std::sregex_token_iterator end;
  for (std::sregex_token_iterator part(text.begin(), text.end(), kWords, -1); part != end; ++part) {
    std::string trimmed = part->str();
    constexpr const char* kEnds = " \"(:@);,[.";
    trimmed.erase(0, std::min(trimmed.find_first_not_of(kEnds), trimmed.size()));
    trimmed.erase(trimmed.find_last_not_of(kEnds) + 1);
    if (!trimmed.empty()) parts.push_back(trimmed);
  }
  return parts;
}

struct Said {
  std::string text;
  std::string row;
  std::string advice = {};  // empty: not compared
};

// What dlaunch and OpenSSH 9.2 have printed.
TEST(OwnMessages, RealMessagesAreFound) {
  StartFailure absent{StartFailure::Step::execute, ENOENT, "trian", "", "/usr/bin"};
  StartFailure broken{StartFailure::Step::interpreter, ENOENT, "./train.py", "", "/usr/bin"};
  StartFailure module{StartFailure::Step::module, ENOENT, "/usr/bin/python3", "", "torch"};
  const std::vector<Said> all = {
      {"dlaunch: FAILED after 3 s: gpu40: ssh: me@gpu40: Permission denied (publickey,password).",
       "USER@HOST: Permission denied (METHODS)",
       "ssh-add -l; connect.user, connect.identity_file; authorized_keys on gpu40"},
      {"gpu12: ssh: me@bastion: Permission denied (publickey).",
       "USER@HOST: Permission denied (METHODS)",
       "ssh-add -l; connect.user, connect.identity_file; authorized_keys on bastion"},
      {"ssh: connect to host 10.0.0.12 port 2222: Connection refused",
       "connect to host HOST port N: Connection refused",
       "ssh -p 2222 10.0.0.12 true; connect.port, or Port in ~/.ssh/config"},
      {"ssh: Could not resolve hostname gpu9: Name or service not known",
       "Could not resolve hostname HOST: WHAT"},
      {"ssh: Could not resolve hostname gpu9: Temporary failure in name resolution",
       "Could not resolve hostname HOST: Temporary failure in name resolution",
       "getent hosts gpu9, until it prints an address"},
      {"ssh: Host key verification failed. Host key for [gpu05]:2222 has changed and you have "
       "requested strict checking.",
       "key for HOST has changed", "ssh-keygen -R '[gpu05]:2222', if it was reinstalled"},
      {"ssh: Host key verification failed. RSA host key for gpu1 was revoked and you have "
       "requested strict checking.",
       "host key for HOST was revoked"},
      {"ssh: Host key verification failed. No ED25519 host key is known for gpu7 and you have "
       "requested strict checking.",
       "host key is known for HOST and you have requested strict checking",
       "ssh -o StrictHostKeyChecking=ask gpu7 true, and compare the fingerprint"},
      {"stranger: ssh: Host key verification failed.", "Host key verification failed",
       "ssh HOST true, and compare the fingerprint"},
      {"kex_exchange_identification: read: Connection reset by peer",
       "kex_exchange_identification: read: Connection reset by peer"},
      {describe(absent), "cannot execute \"PROGRAM\": No such file or directory"},
      {describe(broken),
       "cannot execute \"PROGRAM\": the interpreter in its #! line does not exist"},
      {describe(module), "no module \"NAME\" for PROGRAM",
       "PROGRAM -m pip install torch; or another python in the command"},
      {too_few_slots("4 processes", 1, 1, ""), "but the host has only N slot"},
      {too_few_slots("9 processes", 2, 8, "--hosts"), "but the hosts have only N slots"},
      {"rank 1 exited with code 1 after 12 s; restart 1 of 3 now", "after TIME; restart N of N"},
      {wording::waiting_for({"node3"}, std::chrono::minutes(5)),
       "waiting up to TIME for NODES to answer again"},
      {"node3: the agent is stuck: pid 47 (dlaunch) waits for nfs4 at /data; the output of its "
       "ranks waits; "
       "Ctrl-C twice ends the job",
       "waits for WHAT; Ctrl-C twice ends the job"},
      {"no connection within 30 s: the host does not answer, or its login shell does not continue",
       "no connection within TIME"},
      {"no connection within 30 s: its login shell printed \"hi\" and does not continue",
       "its login shell printed TEXT and does not continue"},
      {"port 29500 on node1 was taken by pid 8812 (nc -l 29500, user eve)",
       "port N was taken by WHAT"},
      {"dlaunch: no run \"xyz\" in runs", "no run \"NAME\" in DIR"},
      {"dlaunch: unknown option \"--nproc\"", "unknown option \"NAME\"",
       "dlaunch help --nproc, also for options of other launchers"},
      {"dlaunch: done\n  others  7 ranks were stopped by dlaunch", "stopped by dlaunch"},
  };
  for (const Said& one : all) {
    const auto found = find_own_message(one.text);
    ASSERT_TRUE(found) << one.text;
    EXPECT_EQ(found->row->text, one.row) << one.text;
    if (!one.advice.empty()) EXPECT_EQ(found->advice, one.advice);
  }
}

TEST(OwnMessages, OtherTextIsNone) {
  for (const char* text :
       {"", "in runs no run \"", "mkdir: /data: Permission denied (13)",
        "Exception: Permission denied (os error 13)", "ValueError: path does not end with .pt",
        "only 3 workers\nERROR: no free slots", "the host has only\n4 slots",
        "OSError: cannot read \"/data/a.pt\": Input/output error"})
    EXPECT_FALSE(find_own_message(text)) << text;
}

TEST(OwnMessages, EachKindOfTroubleHasOneLineAndThereAreThreeAtMost) {
  EXPECT_THAT(
      connection_advice({{"a", "ssh: Could not resolve hostname a: Name or service not known"},
                         {"b", "ssh: Could not resolve hostname b: Name or service not known"},
                         {"c", "no sign of life for 15 s"},
                         {"d", "Host key for d\x1b[2J has changed"},
                         {"e", "Too many authentication failures"},
                         {"f", "its login shell ended with code 1"}}),
      ElementsAre("try: correct the name in the host list, or add HostName to ~/.ssh/config",
                  StartsWith("try: ssh-keygen -R d, if"), HasSubstr("IdentitiesOnly")));
  EXPECT_THAT(connection_advice({{"f", "its login shell ended with code 1"}}),
              ElementsAre("try: ssh f true, which must return 0"));
}

// A message that is no longer printed would stay in the table.
TEST(OwnMessages, SourcesOrSshSayEachOfThem) {
  const std::string ssh = text_of("/usr/bin/ssh");
  const std::string sshd = text_of("/usr/sbin/sshd");
  if (ssh.empty() || sshd.empty()) GTEST_SKIP() << "no /usr/bin/ssh and /usr/sbin/sshd here";
  const std::string said = literals_of_sources() + ssh + sshd + words_of_the_system();
  for (const OwnMessage& row : own_messages()) {
    if (row.text.starts_with("but the host")) continue;  // too_few_slots(), above
    for (const std::string& part : fixed_parts(std::string(row.text)))
      EXPECT_NE(said.find(part), std::string::npos) << row.text << ": " << part;
  }
}

TEST(OwnMessages, TheReferenceHasEachRow) {
  const std::string reference = text_of(DLAUNCH_DOCS "/reference/messages.md");
  for (const OwnMessage& row : own_messages()) {
    const std::string line = "| `" + std::string(row.text) + "` | " + std::string(row.meaning) +
                             " | " + std::string(row.advice);
    EXPECT_NE(reference.find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace dlaunch
