// PMI-1, the text protocol that programs of MPICH, Intel MPI and MVAPICH use to start: one rank's
// lines in, our answers out. Pure; the caller owns the socket and the barriers.
//
// Sources: MPICH, src/pmi/maint/pmi-1.1.txt, src/pmi/src/pmi_v1.c and pmi_wire.c, and in 4.0
// src/pmi/simple/simple_pmi.c (the client's side); src/pm/hydra/proxy/pmip_pmi.c (what Hydra
// answers).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "node/pmi/key_space.h"

namespace dlaunch::pmi {

/// Longer lines are malformed: clients' buffers have 1024 bytes, in later versions 4096.
inline constexpr std::size_t kMostLine = 65536;

class Conversation {
 public:
  enum class Kind {
    answered,    // `text` is the answer
    connected,   // MPI_Init; more than once if a rank runs several programs
    at_barrier,  // it waits for barrier_out()
    finalized,
    aborted,   // its last command, with `code`; it waits to be killed (MPICH up to 4.0) or ends by
               // itself
    refused,   // it has called `what`, which is not supported; `text` is the error for it
    nonsense,  // malformed as `what` says; nothing more is read from the rank
  };
  struct Said {
    Kind kind = Kind::answered;
    std::string text = {};  // to send; may be empty
    int code = 0;
    std::string what = {};
    bool operator==(const Said&) const = default;
  };

  /// Takes bytes that the rank has written.
  void feed(std::string_view bytes) { heard_.append(bytes); }
  /// The next complete command; nullopt: there is none yet, or nothing more is read from the rank.
  [[nodiscard]] std::optional<Said> next(KeySpace& space);
  /// Call when all ranks have entered the barrier. Returns what to send; empty if the rank does not
  /// wait.
  [[nodiscard]] std::string_view barrier_out();

  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] bool finalized() const { return finalized_; }
  /// This or an earlier program of the rank has asked for data of other ranks: asks_of_others().
  [[nodiscard]] bool asked_of_others() const { return asked_of_others_; }
  [[nodiscard]] bool at_barrier() const { return at_barrier_; }
  [[nodiscard]] std::optional<int> aborted() const { return aborted_; }

 private:
  [[nodiscard]] std::optional<Said> hear(std::string_view line, KeySpace& space);
  [[nodiscard]] std::optional<Said> hear_of_spawn(std::string_view line);
  [[nodiscard]] Said command(std::string_view line, KeySpace& space);
  [[nodiscard]] Said init(std::string_view line);
  [[nodiscard]] Said nonsense(std::string what);

  std::string heard_;
  std::string spawning_;  // those lines of an incomplete "mcmd" that matter
  std::size_t spawn_size_ = 0;
  bool connected_ = false;
  bool finalized_ = false;
  bool at_barrier_ = false;
  bool asked_of_others_ = false;
  bool over_ = false;
  std::optional<int> aborted_;
};

}  // namespace dlaunch::pmi
