#include "launch/connect/connect_failure.h"

#include <algorithm>
#include <array>
#include <vector>

#include <sys/wait.h>

#include "launch/connect/channel_opening.h"
#include "model/result.h"
#include "model/signal_names.h"

namespace dlaunch {

namespace {

// ssh(1), EXIT STATUS: 255 when an error was its own.
constexpr int kSshError = 255;

template <std::size_t N>
bool begins_with_one_of(std::string_view line, const std::array<const char*, N>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const char* one) { return line.starts_with(one); });
}

template <std::size_t N>
bool has_one_of(std::string_view line, const std::array<const char*, N>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* one) { return line.find(one) != std::string_view::npos; });
}

/// ssh prints these after the cause, however the connection ended.
bool only_follows(std::string_view line) {
  constexpr std::array kFollow = {"Connection closed by",
                                  "Connection reset by",
                                  "Connection to ",
                                  "kex_exchange_identification:",
                                  "ssh_exchange_identification:",
                                  "ssh_dispatch_run_fatal:",
                                  "banner exchange:",
                                  "stdio forwarding failed",
                                  "Killed by signal",
                                  "mux_client"};
  return begins_with_one_of(line, kFollow);
}

/// Also printed when all is well; the last one begins each line of a warning about key exchange.
bool is_noise(std::string_view line) {
  constexpr std::array kNoise = {"Warning: Permanently added", "Pseudo-terminal will not", "** "};
  return begins_with_one_of(line, kNoise);
}

/// ssh's own words for what went wrong (sshconnect.c, clientloop.c, channels.c of OpenSSH).
bool names_a_cause(std::string_view line) {
  constexpr std::array kCauses = {"open failed",
                                  "Permission denied",
                                  "verification failed",
                                  "Could not resolve",
                                  "Too many authentication",
                                  "No route to host",
                                  "timed out",
                                  "Bad owner",
                                  "Bad configuration",
                                  "no matching"};
  return line.starts_with("ssh: ") || has_one_of(line, kCauses);
}

bool is_refusal(std::string_view line) {
  constexpr std::array kStarts = {"kex_exchange_identification:", "ssh_exchange_identification:"};
  constexpr std::array kEnds = {"closed by remote host", "onnection reset", "Exceeded MaxStartups"};
  return begins_with_one_of(line, kStarts) && has_one_of(line, kEnds);
}

std::vector<std::string> ssh_lines(std::string_view errors) {
  std::vector<std::string> lines = lines_of(errors);
  std::erase_if(lines, [](const std::string& line) { return is_noise(line); });
  return lines;
}

bool was_refused(const std::vector<std::string>& lines) {
  return std::any_of(lines.begin(), lines.end(), is_refusal) &&
         std::none_of(lines.begin(), lines.end(), names_a_cause);
}

std::string ended_silently(const ConnectEnd& end, int code) {
  if (!end.last_line.empty())
    return "its login shell ended with code " + std::to_string(code) + ": " + end.last_line;
  const std::string text =
      with_program(end, "ended with code " + std::to_string(code) + " and no message");
  if (code == kSshError || end.by_hand.empty()) return text;
  return text +
         ": the command for the node was not run; likely causes: an rc file there that ends the "
         "shell, or a forced command of its sshd; try: " +
         end.by_hand;
}

/// The program file is damaged or for another architecture (a shell then takes it for a script and
/// returns any code: POSIX XCU 2.9.1.1), or something kills the program.
std::string ended_early(const ConnectEnd& end, int code) {
  const std::string said = end.last_line.empty() ? telling_line(end.errors) : end.last_line;
  std::string how = "ended with code " + std::to_string(code);
  if (code == kSshError) how = "was killed by a signal";
  if (code > exit_code::kSignalBase && code < kSshError)
    how = "was killed by " + signal_name(code - exit_code::kSignalBase);
  return "dlaunch was started there and " + how + " before it answered" +
         (said.empty() ? "" : ": " + said);
}

/// An unknown key is quickly fixed, but a changed key may be an attack: the line before says which
/// of the two it is.
std::string with_reason(const std::string& cause, const std::vector<std::string>& lines) {
  if (cause.find("Host key verification failed") == std::string::npos) return cause;
  const auto reason = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("you have requested strict checking") != std::string::npos;
  });
  return reason == lines.end() ? cause : cause + ' ' + *reason;
}

}  // namespace

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (std::string line = last_line(text.substr(0, end)); !line.empty())
      lines.push_back(std::move(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string with_program(const ConnectEnd& end, const std::string& line) {
  const std::string name = end.program.substr(end.program.rfind('/') + 1);  // npos + 1 is 0
  return line.starts_with(name + ':') ? line : name + ": " + line;
}

std::string killed_text(const ConnectEnd& end) {
  if (!WIFSIGNALED(end.wait_status)) return "";
  return with_program(end, "was killed by " + signal_name(WTERMSIG(end.wait_status)));
}

std::string agent_end_text(const ConnectEnd& end) {
  constexpr std::string_view kOurs = "dlaunch: ";
  const std::vector<std::string> lines = lines_of(end.errors);
  const auto own = std::find_if(lines.rbegin(), lines.rend(),
                                [&](const std::string& line) { return line.starts_with(kOurs); });
  return own == lines.rend() ? "" : "its agent ended: " + own->substr(kOurs.size());
}

std::string telling_line(std::string_view errors) {
  const std::vector<std::string> lines = ssh_lines(errors);
  const auto cause = std::find_if(lines.rbegin(), lines.rend(), [](const std::string& line) {
    return names_a_cause(line) && !only_follows(line);
  });
  if (cause != lines.rend()) return with_reason(*cause, lines);
  const auto other = std::find_if(lines.rbegin(), lines.rend(),
                                  [](const std::string& line) { return !only_follows(line); });
  if (other != lines.rend()) return *other;
  return lines.empty() ? "" : lines.front();
}

std::string why_late(const ConnectEnd& end, bool is_copying) {
  if (is_copying && !end.started) return "dlaunch itself was still being copied there";
  if (std::string line = telling_line(end.errors); !line.empty()) return line;
  if (end.started) return "dlaunch was started there but did not answer";
  if (!end.last_line.empty())
    return "its login shell printed \"" + end.last_line + "\" and does not continue";
  return "the host does not answer, or its login shell does not continue";
}

ConnectFailure ssh_failure(const ConnectEnd& end) {
  using Kind = ConnectFailure::Kind;
  if (std::string killed = killed_text(end); !killed.empty())
    return {Kind::final, std::move(killed)};
  const int code = WEXITSTATUS(end.wait_status);
  const std::vector<std::string> lines = ssh_lines(end.errors);
  if (code == kSshError && was_refused(lines)) {
    const auto refusal = std::find_if(lines.begin(), lines.end(), is_refusal);
    return {Kind::refused_for_now, with_program(end, *refusal)};
  }
  // OpenSSH also returns 255, without a message, for a command that was killed by a signal.
  if (end.started && (code != kSshError || lines.empty()))
    return {Kind::cannot_execute, ended_early(end, code)};
  const std::string line = telling_line(end.errors);
  if (line.empty()) return {Kind::final, ended_silently(end, code)};
  if (code == kSshError) return {Kind::final, with_program(end, line)};
  return {Kind::final, "its login shell ended with code " + std::to_string(code) + ": " +
                           (end.last_line.empty() ? line : end.last_line)};
}

LastWords ssh_end(const ConnectEnd& end) {
  if (const std::string killed = killed_text(end); !killed.empty())
    return {"its connection ended: " + killed};
  if (WEXITSTATUS(end.wait_status) != kSshError) return {agent_end_text(end)};
  const std::string last = last_line(end.errors);
  return {"its connection ended: " +
          with_program(end, last.empty() ? "ended with code 255 and no message" : last)};
}

ConnectFailure command_failure(const ConnectEnd& end, const std::string& said) {
  const int code = WEXITSTATUS(end.wait_status);
  // What a shell returns for a file that is not a program; see ended_early().
  constexpr int kSyntaxError = 2;
  const bool bad_file = code == kSyntaxError || code == exit_code::kCannotExecute ||
                        code == exit_code::kNotFound || code > exit_code::kSignalBase;
  const std::string last = said.empty() ? end.last_line : said;
  return {bad_file ? ConnectFailure::Kind::cannot_execute : ConnectFailure::Kind::final,
          with_program(end, "its command ended with code " + std::to_string(code) +
                                (last.empty() ? "" : ": " + last))};
}

}  // namespace dlaunch
