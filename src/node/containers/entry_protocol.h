// The messages between an agent and the first process of a rank's container (container_entry.h).
// Pure. Each message is one packet of a unix socket; the order may be longer than a packet, so it
// travels as a file descriptor. Both ends run the same binary, so there is no version.
//
//   entry -> agent   EntryArrived
//   agent -> entry   order; descriptors: a file with the EntryOrder, stdin, stdout, stderr, and the
//                    PMI-1 socket if has_pmi
//   entry -> agent   EntryStarted, with the rank's terminal if it has_terminal, or StartFailure
//   agent -> entry   signal: to the program; if it is dlaunch's own shell, to its children too
//                    pass:   to the program; if it is dlaunch's own shell, to its children instead
//                    kill
//   entry -> agent   ExitStatus
//
// Programs beside the rank (node/terminals/terminal_service.h), any number at the same time:
//
//   agent -> entry   beside; descriptors: a file with the BesideOrder, and stdin, stdout and stderr
//                    unless the program gets a terminal
//   entry -> agent   BesideStarted, with its terminal
//   agent -> entry   session: signal to all processes of its session
//   entry -> agent   TerminalEnded: why it was not started, or how it ended
//
// Terminals are made in the container, because programs look up their names there (ttyname(3)). The
// entry process sends the master to the agent.
//
// When the connection ends, the entry process kills everything that it has started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/environment.h"
#include "model/exit_status.h"
#include "model/ids.h"
#include "wire/message.h"

namespace dlaunch {

/// Largest packet.
inline constexpr std::size_t kMostEntryBytes = 16384;

/// What the entry process executes.
struct EntryOrder {
  std::vector<std::string> argv;  // at least one
  bool is_own_shell = false;
  bool has_pmi = false;       // a fifth descriptor came; it becomes kPmiDescriptor
  bool has_terminal = false;  // a terminal instead of three streams
  std::string workdir;
  Environment defaults;          // set unless the container sets them
  Environment variables;         // always set
  std::vector<int> cpus;         // empty: not bound
  std::uint64_t open_files = 0;  // soft limit of the rank, lowered to what the container allows
  std::uint64_t open_files_hard = 0;  // its hard limit, likewise
  bool operator==(const EntryOrder&) const = default;
};
[[nodiscard]] std::string encode(const EntryOrder&);
[[nodiscard]] std::optional<EntryOrder> decode_order(std::string_view bytes);

struct BesideOrder {
  wire::OpenTerminal request;
  Environment defaults;  // set unless the rank's environment has them
  bool operator==(const BesideOrder&) const = default;
};
[[nodiscard]] std::string encode(const BesideOrder&);
[[nodiscard]] std::optional<BesideOrder> decode_beside(std::string_view bytes);

struct EntryArrived {
  Rank rank;
  bool operator==(const EntryArrived&) const = default;
};
struct EntryStarted {
  std::int32_t pid = 0;
  bool operator==(const EntryStarted&) const = default;
};
struct BesideStarted {
  std::uint32_t id = 0;  // id of the OpenTerminal
  std::int32_t pid = 0;
  bool operator==(const BesideStarted&) const = default;
};
using EntryNews = std::variant<EntryArrived, EntryStarted, StartFailure, ExitStatus, BesideStarted,
                               wire::TerminalEnded>;
[[nodiscard]] std::string encode(const EntryNews&);
[[nodiscard]] std::optional<EntryNews> decode_news(std::string_view bytes);

struct EntryDemand {
  enum class Kind { order, signal, pass, kill, beside, session };
  Kind kind = Kind::order;
  int signal = 0;
  std::int32_t leader = 0;  // of a session
  bool operator==(const EntryDemand&) const = default;
};
[[nodiscard]] std::string encode(const EntryDemand&);
[[nodiscard]] std::optional<EntryDemand> decode_demand(std::string_view bytes);

}  // namespace dlaunch
