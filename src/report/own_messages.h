// The table of messages of dlaunch, and of ssh when dlaunch runs it: what each means and what to
// do. `dlaunch help` looks messages up in this table, and reports about nodes that cannot be
// reached take their advice from it. docs/reference/messages.md lists it. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

struct OwnMessage {
  std::string_view text;     // as printed, except for words such as HOST, N or TIME
  std::string_view meaning;  // a sentence without its full stop
  std::string_view advice;   // may have placeholders of `text`, and HOST; empty: none
  bool certain = false;      // no program of a rank prints such a line
};

[[nodiscard]] std::span<const OwnMessage> own_messages();

struct FoundMessage {
  const OwnMessage* row = nullptr;
  std::string advice;  // with the words of the message in place of HOST and other placeholders
};

/// The first row whose text occurs in a line of `said`; rows that are `certain` are tried first. If
/// the message names no host, HOST becomes `host`.
[[nodiscard]] std::optional<FoundMessage> find_own_message(std::string_view said,
                                                           std::string_view host = "HOST");

struct HostTrouble {
  std::string host;
  std::string said;  // why it cannot be used, in ssh's or dlaunch's words
};

/// What to try if hosts cannot be reached: at most three lines, one for each kind of trouble,
/// with the first host that has it. Each line begins with "try: ".
[[nodiscard]] std::vector<std::string> connection_advice(const std::vector<HostTrouble>& hosts);

/// "gpu4: ssh: ..." for each host, then what to try; lines after the first are indented.
[[nodiscard]] std::string trouble_text(const std::vector<HostTrouble>& hosts);

}  // namespace dlaunch
