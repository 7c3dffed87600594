// The messages between front and engine: datagrams over a SOCK_SEQPACKET pair. End of file means
// that the other side is gone.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>

namespace dlaunch {

enum class FrontMessage : char {
  signal = 's',      // front -> engine: one byte, the signal's number
  interrupt = 'c',   // front -> engine: Ctrl-C for the rank with a terminal of its own
  stdin_data = 'i',  // front -> engine: bytes of the user's stdin
  stdin_end = 'e',   // front -> engine: end of the user's stdin
  stdin_more = 'm',  // engine -> front: one byte; another kStdinChunk bytes are welcome
  run_folder = 'f',  // engine -> front: absolute path, NUL, the path as the user would type it
  started = 'r',     // engine -> front, when asked to detach: all ranks have started
  ask = 'a',         // engine -> front: a Prompt::Kind, the text; one at a time
  withdraw = 'x',    // engine -> front: the question no longer needs an answer
  answer = 'w',      // front -> engine: what was typed
  refuse = 'n',      // front -> engine: nothing was typed, or there is no terminal
  hand_over = 'h',   // front -> engine: the front's end will no longer end the run
  ping = 'p',        // front -> engine, after a cancellation: are you still there?
  pong = 'o',        // engine -> front: yes
};

inline constexpr std::size_t kStdinChunk = 16 * 1024;
/// The longest message: two paths (PATH_MAX), or a piece of stdin.
inline constexpr std::size_t kMostFrontMessage = 1 + kStdinChunk;

/// The signal of `dlaunch stop --now` to an engine: like Ctrl-C twice. (Two SIGTERMs may merge.)
/// A real-time signal (signal(7): 34 to 64), because schedulers send the others to whole jobs.
inline constexpr int kStopAtOnce = 50;

/// Sends one message; false if the other end is gone. Blocks only while the socket is full.
/// `may_wait` false: a full socket is a failure, too.
bool send_front_message(int link, FrontMessage kind, const char* bytes = nullptr,
                        std::size_t size = 0, bool may_wait = true);

}  // namespace dlaunch
