#include "launch/connect/ssh_command.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "launch/slurm/srun.h"

namespace dlaunch {

namespace {

// ssh_config(5). A master connection of the user's carries at most MaxSessions (10) sessions and
// ends with its owner; forwardings of the config would fail the second time, with
// ExitOnForwardFailure even for good; a terminal, a command or a local command of the config would
// write into the channel.
constexpr std::array<const char*, 8> kUndisturbed = {
    "ControlMaster=no", "ControlPath=none",        "ClearAllForwardings=yes",
    "ForwardX11=no",    "ExitOnForwardFailure=no", "RemoteCommand=none",
    "RequestTTY=no",    "PermitLocalCommand=no",
};

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

std::vector<std::string> ssh_words(const Connect& connect, const HostSpec& host,
                                   const SshRequest& request) {
  std::vector<std::string> argv = words_of(connect.ssh.empty() ? "ssh" : connect.ssh);
  argv.emplace_back("-T");
  for (const char* option : kUndisturbed) add_option(argv, option);
  if (!request.may_ask) add_option(argv, "BatchMode=yes");
  if (request.connect_timeout.count() > 0)
    add_option(argv, "ConnectTimeout=" + std::to_string(request.connect_timeout.count()));
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

}  // namespace dlaunch
