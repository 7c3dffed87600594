// The table of what dlaunch itself says, and ssh through it: what a message means and what to do.
// `dlaunch help` looks messages up in it, and reports of nodes that cannot be connected take their
// advice from it. docs/reference/messages.md lists it. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

struct OwnMessage {
  std::string_view text;     // as it is printed, but for words such as HOST, N or TIME
  std::string_view meaning;  // a sentence without its full stop
  std::string_view advice;   // empty: nothing; may have words of the text, and HOST
  bool certain = false;      // no program of a rank prints such a line
};

[[nodiscard]] std::span<const OwnMessage> own_messages();

struct FoundMessage {
  const OwnMessage* row = nullptr;
  std::string advice;  // with what stands in the message instead of HOST and others
};

/// The first row whose text stands in a line of `said`, first of those that are certain. HOST is
/// `host` where the message names none.
[[nodiscard]] std::optional<FoundMessage> find_own_message(std::string_view said,
                                                           std::string_view host = "HOST");

struct HostTrouble {
  std::string host;
  std::string said;  // why it cannot be used, in ssh's words or ours
};

/// What to try about hosts that cannot be connected: a line for each kind of trouble, with the
/// first host that has it, at most three. Each begins with "try: ".
[[nodiscard]] std::vector<std::string> connection_advice(const std::vector<HostTrouble>& hosts);

/// "gpu4: ssh: ..." for each host and what to try; lines after the first are indented.
[[nodiscard]] std::string trouble_text(const std::vector<HostTrouble>& hosts);

}  // namespace dlaunch
