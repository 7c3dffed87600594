// The table of what dlaunch itself says, and ssh through it: what a message means and what to do.
// `dlaunch help` looks messages up in it, and the report of nodes that cannot be connected takes
// its advice from it. docs/reference/messages.md lists it. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

struct OwnMessage {
  std::string_view text;     // as it is printed; a word in capitals stands for what differs
  std::string_view meaning;  // a sentence without its full stop
  std::string_view advice;   // what to do or type; empty: nothing. HOST: the host that it is about
  bool of_ssh = false;       // ssh's words (OpenSSH 9.2: ssh.c, sshconnect.c, sshconnect2.c)
};

[[nodiscard]] std::span<const OwnMessage> own_messages();

/// What stands between the words in capitals: what every such message has, in this order.
[[nodiscard]] std::vector<std::string_view> fixed_parts(std::string_view text);

/// The first row whose text stands in `said`; nullptr: none.
[[nodiscard]] const OwnMessage* find_own_message(std::string_view said);

/// The advice of the row for this host.
[[nodiscard]] std::string advice_for(const OwnMessage& row, std::string_view host);

}  // namespace dlaunch
