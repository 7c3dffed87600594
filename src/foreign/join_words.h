// What `dlaunch exec --join`, which another launcher has started in place of a rank, and the agent
// of its node say to each other: one message each way, over a unix socket of type SOCK_SEQPACKET.
// Pure.
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

/// Bytes of a message; a launcher's own variables are a few KiB.
inline constexpr std::size_t kMostJoinBytes = 65536;

/// The place that the other launcher has given, and what the rank needs of it. With it come a
/// pidfd of the launcher's process that has started this one, and, where `has_pmi`, the socket that
/// PMI_FD names.
struct Joining {
  Rank rank;
  std::uint32_t world = 0;   // ranks that the launcher has started; 0: it does not say
  std::uint32_t parent = 0;  // pid of that process, where it runs
  std::vector<int> cpus;     // that it may run on; empty: unknown
  bool has_pmi = false;
  Environment variables;  // is_of_mpi_launcher()
  bool operator==(const Joining&) const = default;
};

[[nodiscard]] std::string encode(const Joining&);
/// nullopt: nonsense.
[[nodiscard]] std::optional<Joining> decode_joining(std::string_view text);

/// Why a rank that has come so is none of a job of `planned` ranks: its launcher has started
/// another number of them. Empty: it has not, or does not say.
[[nodiscard]] std::string other_world(const Joining& joining, std::uint32_t planned);

/// How the rank has ended, or why it was not started.
struct JoinAnswer {
  ExitStatus status;    // code or signal
  std::string refused;  // not empty: then `status` has no meaning
  bool operator==(const JoinAnswer&) const = default;
};
[[nodiscard]] std::string encode(const JoinAnswer&);
[[nodiscard]] std::optional<JoinAnswer> decode_join_answer(std::string_view text);

/// What a process finds that another launcher has started: rank, and what of `environment` is the
/// launcher's. Errors: exit_code::kPreflight, there is no place in it.
[[nodiscard]] Result<Joining> joining_from(const Environment& environment);

/// The socket in the folder of an attempt, and the link to dlaunch beside it.
[[nodiscard]] std::string join_socket(const std::string& folder);
[[nodiscard]] std::string join_program(const std::string& folder);

}  // namespace dlaunch
