// How an ssh without a terminal asks the user: it runs the program named by SSH_ASKPASS (ssh(1)),
// which is dlaunch itself in this mode. That process asks the engine over a unix socket, and the
// engine asks the front, which has the terminal.
#pragma once

#include <string>

namespace dlaunch {

/// Environment variable of such an ssh: "PROCESS:PATH", the engine's name for this ssh and the path
/// of its socket. It switches the mode on.
inline constexpr const char* kAskpassVariable = "DLAUNCH_ASKPASS";
inline constexpr std::size_t kMostPrompt = 4096;
/// Datagrams (SOCK_SEQPACKET). The question: kind, process, NUL, text. The answer: one of these,
/// and the typed text after kAnswered.
inline constexpr char kAnswered = 'y';
inline constexpr char kRefused = 'n';

/// The main function of a process that ssh started with `text` as its argument: prints the answer;
/// the exit code says whether there is one.
[[nodiscard]] int askpass(const std::string& where, const std::string& text);

}  // namespace dlaunch
