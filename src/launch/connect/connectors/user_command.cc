// connect.command: the user's own command line that runs a shell command on a host.
#include <algorithm>
#include <string_view>
#include <utility>

#include "jobfile/shell_quote.h"
#include "launch/connect/connector.h"

namespace dlaunch {

namespace {

using Placeholders = std::vector<std::pair<std::string_view, std::string>>;

std::string filled(const std::string& word, const Placeholders& placeholders) {
  std::string result;
  for (std::size_t at = 0; at < word.size();) {
    const auto found =
        std::find_if(placeholders.begin(), placeholders.end(), [&](const auto& placeholder) {
          return word.compare(at, placeholder.first.size(), placeholder.first) == 0;
        });
    if (found == placeholders.end()) {
      result += word[at++];
    } else {
      result += found->second;
      at += found->first.size();
    }
  }
  return result;
}

bool mentions(const std::vector<std::string>& words, std::string_view name) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word.find(name) != std::string::npos; });
}

/// The remote command is the last word if there is no {command}.
Result<std::vector<std::string>> argv(const Connect& connect, const HostSpec& host,
                                      const ConnectRequest& request) {
  if (host.user.empty() && mentions(connect.command, "{user}")) {
    return fail(exit_code::kJobFile,
                "connect.command has {user}, but no user is given for " + host.name);
  }
  constexpr std::uint16_t kSshPort = 22;
  const Placeholders placeholders = {
      {"{host}", host.name},
      {"{user}", host.user},
      {"{port}", std::to_string(host.port == 0 ? kSshPort : host.port)},
      {"{command}", request.remote_command}};
  std::vector<std::string> argv;
  for (const std::string& word : connect.command) argv.push_back(filled(word, placeholders));
  if (!mentions(connect.command, "{command}")) argv.push_back(request.remote_command);
  return argv;
}

std::string program(const Connect& connect) {
  return connect.command.front();
}

std::string by_hand(const Connect& connect, const HostSpec& host) {
  const auto words = argv(connect, host, {"echo hello"});
  return words ? jobfile::shell_line(*words) : "";
}

}  // namespace

extern const Connector kCommandConnector;
const Connector kCommandConnector{.name = Connect::Via::command,
                                  .own_exit_codes = true,
                                  .program = program,
                                  .argv = argv,
                                  .failure = ssh_failure,
                                  .end = ssh_end,
                                  .by_hand = by_hand};

}  // namespace dlaunch
