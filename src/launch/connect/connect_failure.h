// What the end of a connector's process means, and how ssh words it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

struct ConnectEnd {
  int wait_status = 0;       // waitpid(2)
  std::string program;       // "ssh"
  std::string errors;        // its stderr, or the end of it
  std::string last_line;     // of its stdout, apart from what dlaunch printed
  bool started = false;      // the binary on the node was executed
  std::string by_hand{};     // what the user can type to see the same: "ssh gpu12 echo hello"
  bool old_program = false;  // ConnectRequest::old_program
};

struct ConnectFailure {
  enum class Kind : std::uint8_t {
    refused_for_now,  // a server (or bastion) accepts no more connections now: MaxStartups
    cannot_execute,   // the binary on the node was executed and ended without a message
    too_old,          // the program is too old for some options
    final,
  };
  Kind kind = Kind::final;
  std::string text{};  // one line: "ssh: connect to host gpu12 port 22: Connection refused"
};

/// How an open connection ended.
struct LastWords {
  std::string text{};        // "its connection ended: ssh: Timeout, server gpu12 not responding."
  bool agent_ended = false;  // with the connection: attaching again is pointless
};

/// The text of stderr or stdout as lines without control characters; empty ones are left out.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

/// "ssh: LINE", or LINE alone if it already begins so.
[[nodiscard]] std::string with_program(const ConnectEnd& end, const std::string& line);

/// "ssh: was killed by SIGTERM"; empty: it was not killed.
[[nodiscard]] std::string killed_text(const ConnectEnd& end);

/// Why an agent ended, from its message on stderr: "its agent ended: ..."; empty: there was none.
[[nodiscard]] std::string agent_end_text(const ConnectEnd& end);

/// Why a connector that still runs may be late. `is_copying`: the node was told to receive dlaunch.
[[nodiscard]] std::string why_late(const ConnectEnd& end, bool is_copying);

/// For ssh and commands like it: 255 is an error of their own, any other code is the remote
/// command's.
[[nodiscard]] ConnectFailure ssh_failure(const ConnectEnd& end);
[[nodiscard]] LastWords ssh_end(const ConnectEnd& end);

/// For programs that return 1 for an error of their own and otherwise the exit code of their
/// command. The command has ended with the code in `end` and has printed `said` last.
[[nodiscard]] ConnectFailure command_failure(const ConnectEnd& end, const std::string& said);

/// The line of ssh's stderr that names the cause, not one that only follows from it.
[[nodiscard]] std::string telling_line(std::string_view errors);

}  // namespace dlaunch
