// A question on the terminal of the front, and the line that is typed as the answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <termios.h>

#include "launch/connect/prompt_queue.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// This process has a terminal to ask on: /dev/tty can be opened (tty(4)).
[[nodiscard]] bool can_ask_on_terminal();

/// One question at a time. Not thread-safe.
class TerminalPrompt {
 public:
  TerminalPrompt() = default;
  ~TerminalPrompt() { withdraw(); }
  TerminalPrompt(const TerminalPrompt&) = delete;
  TerminalPrompt& operator=(const TerminalPrompt&) = delete;

  /// Shows the question, without control characters; a secret is not echoed. False: no terminal.
  bool ask(Prompt::Kind kind, std::string_view text);
  /// Poll this for input; -1 when no question is open.
  [[nodiscard]] int fd() const { return kind_ == Prompt::Kind::notice ? -1 : terminal_.get(); }
  /// Call when there is input. `done`: the answer is complete; then nullopt means the end of input
  /// (Ctrl-D).
  std::optional<std::string> read(bool& done);
  /// Ends the question and restores the terminal.
  void withdraw();

 private:
  UniqueFd terminal_;
  Prompt::Kind kind_ = Prompt::Kind::secret;
  std::optional<termios> before_;
};

}  // namespace dlaunch
