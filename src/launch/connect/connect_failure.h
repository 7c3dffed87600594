// What the end of an ssh that did not get through means. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dlaunch {

struct ConnectEnd {
  int wait_status = 0;    // waitpid(2)
  std::string program;    // "ssh"
  std::string errors;     // what came on its stderr, or the end of it
  std::string last_line;  // of what came on its stdout without being ours
  bool started = false;   // the binary on the node was executed
  std::string by_hand{};  // what a person types to see the same: "ssh gpu12 echo hello"
};

struct ConnectFailure {
  enum class Kind : std::uint8_t {
    refused_for_now,  // a server (or bastion) takes no more connections at once: MaxStartups
    cannot_execute,   // the binary there was executed and ended without a word of ours
    final,
  };
  Kind kind = Kind::final;
  std::string text;  // one line: "ssh: connect to host gpu12 port 22: Connection refused"
};

[[nodiscard]] ConnectFailure failure_of(const ConnectEnd& end);

/// Why a connection that was open has ended, from the same knowledge; empty: by the end of its
/// remote command, whose exit code says it.
[[nodiscard]] std::string end_of_connection(const ConnectEnd& end);

/// The line of ssh's stderr that names the cause: not the ones that only follow from it.
[[nodiscard]] std::string telling_line(std::string_view errors);

}  // namespace dlaunch
