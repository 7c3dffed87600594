// ssh with the job's settings, and with options that override those settings of the user's
// ssh_config that would break a channel. The rest of that file applies.
#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "jobfile/shell_quote.h"
#include "launch/connect/connector.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

// ssh_config(5). A master connection of the user carries at most MaxSessions (10) sessions and ends
// with its owner. Forwardings from the config would fail the second time and, with
// ExitOnForwardFailure, end ssh. A terminal (also needed for an escape character), a command or a
// local command from the config would write into the channel. Failures are explained by ssh's
// messages: QUIET hides them, DEBUG buries them, and a picture of the host key follows them.
constexpr std::array<const char*, 8> kUndisturbed = {
    "ClearAllForwardings=yes", "ForwardX11=no",    "ExitOnForwardFailure=no",
    "RemoteCommand=none",      "RequestTTY=no",    "PermitLocalCommand=no",
    "LogLevel=INFO",           "VisualHostKey=no",
};

// Options since OpenSSH 8.7. Their other values mean no stdin, no command at all, or an ssh in the
// background whose end means nothing. An older ssh rejects the names.
struct Option {
  const char* name;
  const char* value;
};
constexpr std::array<Option, 3> kSince87 = {
    {{"stdinnull", "no"}, {"sessiontype", "default"}, {"forkafterauthentication", "no"}}};

/// `connect.ssh`, split at blanks.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  if (words.empty()) words.emplace_back("ssh");
  return words;
}

void add_option(std::vector<std::string>& argv, const std::string& option) {
  argv.emplace_back("-o");
  argv.push_back(option);
}

void add_destination(std::vector<std::string>& argv, const Connect& connect, const HostSpec& host) {
  const auto add_pair = [&](const char* option, const std::string& value) {
    if (value.empty()) return;
    argv.emplace_back(option);
    argv.push_back(value);
  };
  add_pair("-l", host.user);
  add_pair("-p", host.port == 0 ? "" : std::to_string(host.port));
  add_pair("-i", connect.identity_file);
  argv.emplace_back("--");
  argv.push_back(host.name);
}

/// With a shared connection, the first ssh logs in and keeps it open for connect.persist.
void add_master(std::vector<std::string>& argv, const Connect& connect,
                const ConnectRequest& request) {
  const bool shares = !request.master.empty();
  add_option(argv, shares ? "ControlMaster=auto" : "ControlMaster=no");
  add_option(argv, "ControlPath=" + (shares ? request.master : "none"));
  if (!shares) return;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(connect.persist.value_or(Duration(0)));
  add_option(argv, "ControlPersist=" + std::to_string(std::max<std::int64_t>(seconds.count(), 1)));
}

std::vector<std::string> settings_argv(const Connect& connect, const HostSpec& host) {
  std::vector<std::string> argv = words_of(connect.ssh);
  argv.emplace_back("-G");
  add_destination(argv, connect, host);
  return argv;
}

/// Reads the output of ssh -G: one setting per line, and no line for a path that is not set.
bool is_users_own(std::string_view settings) {
  while (!settings.empty()) {
    const std::vector<std::string_view> words = split_words(take_line(settings));
    if (words.size() < 2) continue;
    const bool is_off = words[1] == "false" || words[1] == "no" || words[1] == "none";
    if ((words[0] == "controlmaster" || words[0] == "controlpath") && !is_off) return true;
  }
  return false;
}

constexpr MasterSupport kMaster{settings_argv, is_users_own};

Result<std::vector<std::string>> argv(const Connect& connect, const HostSpec& host,
                                      const ConnectRequest& request) {
  std::vector<std::string> argv = words_of(connect.ssh);
  argv.emplace_back("-T");
  add_master(argv, connect, request);
  for (const char* option : kUndisturbed) add_option(argv, option);
  if (!request.old_program) {
    for (const Option& option : kSince87)
      add_option(argv, std::string(option.name) + '=' + option.value);
  }
  if (!request.may_ask) add_option(argv, "BatchMode=yes");
  if (request.timeout.count() > 0)
    add_option(argv, "ConnectTimeout=" + std::to_string(request.timeout.count()));
  add_destination(argv, connect, host);
  argv.push_back(request.remote_command);
  return argv;
}

std::string program(const Connect& connect) {
  return words_of(connect.ssh).front();
}

std::string by_hand(const Connect& connect, const HostSpec& host) {
  std::vector<std::string> words = words_of(connect.ssh);
  add_destination(words, connect, host);
  words.insert(words.end(), {"echo", "hello"});
  return jobfile::shell_line(words);
}

/// Whether ssh rejects one of kSince87. Only errors about the command line count: those in a file
/// are the user's. ssh repeats the name as given or in lower case.
bool refuses_an_option(const std::string& errors) {
  const std::string complaint = "command-line: line 0: Bad configuration option: ";
  return std::any_of(kSince87.begin(), kSince87.end(), [&](const Option& option) {
    return errors.find(complaint + option.name) != std::string::npos;
  });
}

ConnectFailure failure(const ConnectEnd& end) {
  if (!end.old_program && refuses_an_option(end.errors)) return {ConnectFailure::Kind::too_old};
  return ssh_failure(end);
}

}  // namespace

extern const Connector kSshConnector;
const Connector kSshConnector{.name = Connect::Via::ssh,
                              .program = program,
                              .argv = argv,
                              .failure = failure,
                              .end = ssh_end,
                              .by_hand = by_hand,
                              .master = &kMaster};

}  // namespace dlaunch
