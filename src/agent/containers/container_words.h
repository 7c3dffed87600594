// What an agent and the first process of a rank's container (container_entry.h) say to each other,
// as texts. Pure. Each message is one packet; the order is too long for that and is a file, which
// comes with its packet.
//
//   entry -> agent   "dlaunch-enter-1", rank
//   agent -> entry   "order"; with descriptors: the order, stdin, stdout, stderr, perhaps PMI-1's
//   entry -> agent   "started", pid      or  "failed", step, errno, path, search path
//   agent -> entry   "signal", number    to the program, and to the direct children of our own
//   shell
//                    "pass", number      likewise, but to the shell itself only when it has none
//                    "kill"
//   entry -> agent   "ended", exit code or signal, ...
//
// When the connection ends, whoever the entry has started is killed.
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

namespace dlaunch {

/// Bytes that one packet may have.
inline constexpr std::size_t kMostEntryBytes = 16384;

/// What is executed in the container.
struct EntryOrder {
  std::vector<std::string> argv;  // at least one
  bool is_own_shell = false;
  bool has_pmi = false;  // a fifth descriptor has come, for kPmiDescriptor
  std::string workdir;
  Environment defaults;               // where the container does not set them
  Environment variables;              // in any case
  std::vector<int> cpus;              // empty: not bound
  std::uint64_t open_files = 0;       // soft limit that the rank is to have
  std::uint64_t open_files_hard = 0;  // and the hard one; both as far as the container may
  bool operator==(const EntryOrder&) const = default;
};
[[nodiscard]] std::string encode(const EntryOrder&);
[[nodiscard]] std::optional<EntryOrder> decode_order(std::string_view text);

[[nodiscard]] std::string encode_entering(Rank rank);
[[nodiscard]] std::optional<Rank> decode_entering(std::string_view text);

struct EntryStarted {
  std::int32_t pid = 0;
  bool operator==(const EntryStarted&) const = default;
};
using EntryNews = std::variant<EntryStarted, StartFailure, ExitStatus>;
[[nodiscard]] std::string encode(const EntryNews&);
[[nodiscard]] std::optional<EntryNews> decode_news(std::string_view text);

struct EntryDemand {
  enum class Kind { order, signal, pass, kill };
  Kind kind = Kind::order;
  int signal = 0;
  bool operator==(const EntryDemand&) const = default;
};
[[nodiscard]] std::string encode(const EntryDemand&);
[[nodiscard]] std::optional<EntryDemand> decode_demand(std::string_view text);

}  // namespace dlaunch
