// What a rank and the mpirun that has given it its place say to each other passes by the agent, as
// it is. So it is known whether they have met: a program of another MPI library than mpirun's finds
// no launcher, makes a world of its own for each rank, and ends well. And whether it has called
// MPI_Abort by PMI-1: MPICH 4.0 goes on after that, when Hydra is gone before it.
// docs/architecture.md, "mpirun".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/ids.h"
#include "os/acceptor.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// "job.0;tcp4://127.0.0.1:40123", as PMIX_SERVER_URI... of a rank names its server (OpenPMIx,
/// src/mca/ptl/base): up to the address, and the address. nullopt: it is another one, such as a
/// unix socket or an IPv6 address.
struct PmixServerUri {
  std::string before;   // "job.0;tcp4://"
  std::string address;  // "127.0.0.1"
  std::uint16_t port = 0;
  bool operator==(const PmixServerUri&) const = default;
};
[[nodiscard]] std::optional<PmixServerUri> pmix_server_uri(std::string_view text);

/// What whole lines of PMI-1 tell, as they come; others tell nothing. Pure.
struct PmiTold {
  bool connected = false;               // "cmd=init pmi_version=1": MPI_Init
  bool asked_of_others = false;         // pmi::asks_of_others()
  std::optional<std::int32_t> aborted;  // "cmd=abort exitcode=9": the last code

  void add(std::string_view lines);
  bool operator==(const PmiTold&) const = default;
};

/// Lives on the agent's one thread.
class MeetingRelay {
 public:
  explicit MeetingRelay(EventLoop& loop);
  ~MeetingRelay();

  /// That a rank takes: both ends of its connection, and where it knocks for one.
  static constexpr std::size_t kDescriptors = 3;

  /// For a rank that is about to start. `pmi`: Hydra's socket for it, invalid: none. Where
  /// `variables` name a PMIx server on loopback, they name a listening socket on loopback
  /// afterwards, which leads there. Returns what the rank gets in place of `pmi`. What cannot be
  /// made is left as it was.
  [[nodiscard]] UniqueFd pass(Rank rank, UniqueFd pmi, Environment& variables);

  /// Whether the rank has said anything to mpirun, also what was not yet passed on; nullopt: it had
  /// no way by which this could be seen.
  [[nodiscard]] std::optional<bool> has_met(Rank rank);

  /// Ranks of the world that it has made by PMI-1, where this is not the job's `planned`; nullopt:
  /// it is, or cannot be seen.
  [[nodiscard]] std::optional<std::uint32_t> other_world(Rank rank, std::uint32_t planned) const;

  /// The code that it has given to MPI_Abort, told by PMI-1 (MPICH wiki, "PMI-1 wire protocol").
  [[nodiscard]] std::optional<std::int32_t> aborted(Rank rank) const;

  /// Of an attempt that is over: everything is closed.
  void forget();

 private:
  class Link;
  class Door;
  struct OfRank {
    std::vector<std::unique_ptr<Link>> links;
    std::vector<std::unique_ptr<Door>> doors;
  };
  [[nodiscard]] std::uint16_t door_to(OfRank& rank, const PmixServerUri& server);

  EventLoop& loop_;
  std::map<Rank, OfRank> ranks_;
};

}  // namespace dlaunch
