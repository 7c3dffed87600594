#include "launch/connect/ssh_command.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "launch/slurm/srun.h"
#include "spec/shell_quote.h"

namespace dlaunch {

namespace {

// ssh_config(5). A master connection of the user's carries at most MaxSessions (10) sessions and
// ends with its owner; forwardings of the config would fail the second time, with
// ExitOnForwardFailure even for good; a terminal (which an escape character needs, too), a command
// or a local command of the config would write into the channel. Failures are explained in ssh's
// own words: QUIET hides them, DEBUG buries them, and a picture of the host key follows them.
constexpr std::array<const char*, 10> kUndisturbed = {
    "ControlMaster=no", "ControlPath=none",        "ClearAllForwardings=yes",
    "ForwardX11=no",    "ExitOnForwardFailure=no", "RemoteCommand=none",
    "RequestTTY=no",    "PermitLocalCommand=no",   "LogLevel=INFO",
    "VisualHostKey=no",
};

// Since OpenSSH 8.7: no stdin, no command at all, or an ssh that goes into the background and whose
// end means nothing. An older one has none of them and refuses their names.
struct Option {
  const char* name;
  const char* value;
};
constexpr std::array<Option, 3> kSince87 = {
    {{"stdinnull", "no"}, {"sessiontype", "default"}, {"forkafterauthentication", "no"}}};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
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

std::vector<std::string> ssh_words(const Connect& connect, const HostSpec& host,
                                   const SshRequest& request) {
  std::vector<std::string> argv = words_of(connect.ssh.empty() ? "ssh" : connect.ssh);
  argv.emplace_back("-T");
  for (const char* option : kUndisturbed) add_option(argv, option);
  if (!request.old_ssh) {
    for (const Option& option : kSince87)
      add_option(argv, std::string(option.name) + '=' + option.value);
  }
  if (!request.may_ask) add_option(argv, "BatchMode=yes");
  if (request.connect_timeout.count() > 0)
    add_option(argv, "ConnectTimeout=" + std::to_string(request.connect_timeout.count()));
  add_destination(argv, connect, host);
  argv.push_back(request.remote_command);
  return argv;
}

struct Placeholder {
  std::string_view name;
  std::string value;
};

std::string filled(const std::string& word, const std::vector<Placeholder>& places) {
  std::string result;
  for (std::size_t at = 0; at < word.size();) {
    const auto place = std::find_if(places.begin(), places.end(), [&](const Placeholder& one) {
      return word.compare(at, one.name.size(), one.name) == 0;
    });
    if (place == places.end()) {
      result += word[at++];
    } else {
      result += place->value;
      at += place->name.size();
    }
  }
  return result;
}

bool mentions(const std::vector<std::string>& words, std::string_view name) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word.find(name) != std::string::npos; });
}

}  // namespace

Result<std::vector<std::string>> connect_command(const Connect& connect, const HostSpec& host,
                                                 const SshRequest& request) {
  if (connect.via == Connect::Via::slurm) {
    return srun_words(host, request.remote_command, request.step_gpus);
  }
  if (connect.command.empty() || connect.via == Connect::Via::ssh)
    return ssh_words(connect, host, request);
  if (host.user.empty() && mentions(connect.command, "{user}")) {
    return fail(exit_code::kJobFile,
                "connect.command has {user}, but no user is given for " + host.name);
  }
  constexpr std::uint16_t kSshPort = 22;
  const std::vector<Placeholder> places = {
      {"{host}", host.name},
      {"{user}", host.user},
      {"{port}", std::to_string(host.port == 0 ? kSshPort : host.port)},
      {"{command}", request.remote_command}};
  std::vector<std::string> argv;
  for (const std::string& word : connect.command) argv.push_back(filled(word, places));
  if (!mentions(connect.command, "{command}")) argv.push_back(request.remote_command);
  return argv;
}

std::string program_of(const Connect& connect) {
  if (connect.via == Connect::Via::slurm) return kSrun;
  if (!connect.command.empty() && connect.via != Connect::Via::ssh) return connect.command.front();
  const std::vector<std::string> words = words_of(connect.ssh);
  return words.empty() ? "ssh" : words.front();
}

std::string line_by_hand(const Connect& connect, const HostSpec& host) {
  if (connect.via == Connect::Via::slurm) return "";
  std::vector<std::string> words;
  if (connect.command.empty() || connect.via == Connect::Via::ssh) {
    words = words_of(connect.ssh.empty() ? "ssh" : connect.ssh);
    add_destination(words, connect, host);
    words.insert(words.end(), {"echo", "hello"});
  } else if (auto filled = connect_command(connect, host, {"echo hello"})) {
    words = std::move(*filled);
  }
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + spec::shell_quote(word);
  return line;
}

bool is_too_new_an_option(const std::string& errors) {
  // Only errors about the command line: those in a file are the user's. ssh repeats the name as is
  // or in lower case.
  const std::string complaint = "command-line: line 0: Bad configuration option: ";
  return std::any_of(kSince87.begin(), kSince87.end(), [&](const Option& option) {
    return errors.find(complaint + option.name) != std::string::npos;
  });
}

}  // namespace dlaunch
