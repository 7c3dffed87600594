#include "launch/front/terminal_prompt.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "os/write_all.h"

namespace dlaunch {

namespace {

UniqueFd open_terminal() {
  return UniqueFd(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
}

/// Without control characters: a server may have written the text.
std::string harmless(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n' || c == '\t' || (byte >= 0x20 && byte != 0x7f)) result += c;
  }
  return result;
}

}  // namespace

bool can_ask_on_terminal() {
  return open_terminal().valid();
}

bool TerminalPrompt::ask(Prompt::Kind kind, std::string_view text) {
  withdraw();
  terminal_ = open_terminal();
  if (!terminal_) return false;
  kind_ = kind;
  termios now{};
  if (kind == Prompt::Kind::secret && ::tcgetattr(terminal_.get(), &now) == 0) {
    before_ = now;
    now.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(terminal_.get(), TCSAFLUSH, &now);  // drops what was typed before the question
  }
  write_all(terminal_.get(), harmless(text));
  if (kind == Prompt::Kind::notice) write_all(terminal_.get(), "\n");
  return true;
}

std::optional<std::string> TerminalPrompt::read(bool& done) {
  char line[1024];
  const ssize_t n = ::read(terminal_.get(), line, sizeof line);
  done = !(n < 0 && (errno == EINTR || errno == EAGAIN));
  if (!done) return std::nullopt;
  std::optional<std::string> answer;
  if (n > 0) {
    answer.emplace(line, static_cast<std::size_t>(n));
    while (!answer->empty() && (answer->back() == '\n' || answer->back() == '\r'))
      answer->pop_back();
    ::explicit_bzero(line, sizeof line);
  }
  withdraw();
  return answer;
}

void TerminalPrompt::withdraw() {
  if (before_) {
    ::tcsetattr(terminal_.get(), TCSANOW, &*before_);
    write_all(terminal_.get(), "\n");  // the typed newline was not echoed
  }
  before_.reset();
  terminal_.reset();
}

}  // namespace dlaunch
