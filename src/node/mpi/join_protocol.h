// The messages between `dlaunch exec --join`, which another launcher has started in place of a
// rank, and the agent of its node: one message in each direction, over a unix socket of type
// SOCK_SEQPACKET. Both ends run the same binary, so there is no version. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/exit_status.h"
#include "model/ids.h"
#include "model/result.h"

namespace dlaunch {

/// Largest message; a launcher's own variables take a few KiB.
inline constexpr std::size_t kMostJoinBytes = 65536;

/// What the other launcher has assigned to the joining process. Sent with a pidfd of the launcher's
/// process that started the joining process and, if has_pmi, with the socket that PMI_FD names.
struct Joining {
  Rank rank;
  std::uint32_t world = 0;   // ranks that the launcher has started; 0: unknown
  std::uint32_t parent = 0;  // pid of the launcher's process on this node
  std::vector<int> cpus;     // affinity that the launcher has set; empty: unknown
  bool has_pmi = false;
  Environment variables;  // the launcher's own, see is_of_mpi_launcher()
  bool operator==(const Joining&) const = default;
};

[[nodiscard]] std::string encode(const Joining&);
/// nullopt: malformed, or a variable that is not a launcher's.
[[nodiscard]] std::optional<Joining> decode_joining(std::string_view bytes);

/// Why a rank cannot join: the size of its world is not `planned`. Empty if the sizes are equal, or
/// the launcher's is unknown.
[[nodiscard]] std::string other_world(const Joining& joining, std::uint32_t planned);

/// How the rank ended, or why it was not started.
struct JoinAnswer {
  ExitStatus status;    // code or signal
  std::string refused;  // if not empty, `status` has no meaning
  bool operator==(const JoinAnswer&) const = default;
};
[[nodiscard]] std::string encode(const JoinAnswer&);
[[nodiscard]] std::optional<JoinAnswer> decode_join_answer(std::string_view bytes);

/// Rank, world size and variables from the environment of a process that another launcher has
/// started. Error: exit_code::kPreflight if the environment names no rank.
[[nodiscard]] Result<Joining> joining_from(const Environment& environment);

/// The socket in the folder of an attempt, and the link to dlaunch beside it.
[[nodiscard]] std::string join_socket(const std::string& folder);
[[nodiscard]] std::string join_program(const std::string& folder);

}  // namespace dlaunch
