// Relays the traffic between a rank and the mpirun that started its proxy, unchanged, so that the
// agent sees whether the two have connected: a program built with an MPI library other than
// mpirun's finds no launcher, makes a world of one for each rank, and exits with 0. The agent also
// sees MPI_Abort over PMI-1, after which MPICH 4.0 continues if Hydra ends first.
// docs/internals/architecture.md, "mpirun".
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

/// A rank's server as named by PMIX_SERVER_URI... (OpenPMIx, src/mca/ptl/base):
/// "job.0;tcp4://127.0.0.1:40123". nullopt: not on IPv4 loopback, such as a unix socket.
struct PmixServerUri {
  std::string before;   // "job.0;tcp4://"
  std::string address;  // "127.0.0.1"
  std::uint16_t port = 0;
  bool operator==(const PmixServerUri&) const = default;
};
[[nodiscard]] std::optional<PmixServerUri> pmix_server_uri(std::string_view text);

/// What a rank has done, according to the complete lines that it has sent over PMI-1. Pure.
struct PmiProgress {
  bool connected = false;               // "cmd=init pmi_version=1": MPI_Init
  bool asked_of_others = false;         // pmi::asks_of_others()
  std::optional<std::int32_t> aborted;  // "cmd=abort exitcode=9": the last code

  void add(std::string_view lines);
  bool operator==(const PmiProgress&) const = default;
};

/// Lives on the agent's one thread.
class RendezvousRelay {
 public:
  explicit RendezvousRelay(EventLoop& loop);
  ~RendezvousRelay();

  /// Descriptors that a rank costs the agent: both ends of its connection, and a listener.
  static constexpr std::size_t kDescriptors = 3;

  /// Call before a rank starts. `pmi`: Hydra's socket for it, or invalid. If `variables` name a
  /// PMIx server on loopback, they afterwards name a listening socket of the agent instead, which
  /// forwards to that server. Returns the socket that replaces `pmi`. If one of them cannot be
  /// relayed, it stays unchanged.
  [[nodiscard]] UniqueFd pass(Rank rank, UniqueFd pmi, Environment& variables);

  /// Whether the rank has sent anything to mpirun, relayed or not; nullopt: none of its traffic is
  /// relayed.
  [[nodiscard]] std::optional<bool> has_met(Rank rank);

  /// Size of the world that the rank has made over PMI-1 if it differs from the job's, `planned`.
  /// nullopt: it does not differ, or is unknown.
  [[nodiscard]] std::optional<std::uint32_t> other_world(Rank rank, std::uint32_t planned) const;

  /// The code that the rank passed to MPI_Abort over PMI-1 (MPICH wiki, "PMI-1 wire protocol").
  [[nodiscard]] std::optional<std::int32_t> aborted(Rank rank) const;

  /// Closes everything, when the attempt is over.
  void clear();

 private:
  class Link;
  class Forwarder;
  struct RankLinks {
    std::vector<std::unique_ptr<Link>> links;
    std::vector<std::unique_ptr<Forwarder>> forwarders;
  };
  [[nodiscard]] std::uint16_t forward_to(RankLinks& rank, const PmixServerUri& server);

  EventLoop& loop_;
  std::map<Rank, RankLinks> ranks_;
};

}  // namespace dlaunch
