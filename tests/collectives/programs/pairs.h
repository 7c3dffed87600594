// Compares the collective library with plain calls of the library below it: the same calls,
// alternating, on the same buffers.
#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include <dlaunch/collectives/communicator.h>

#include "compare.h"

enum class Kind {
  barrier,
  broadcast,
  reduce,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  ping_pong,
  send_receive
};

/// One call, with float32, sums and root 0.
struct Work {
  Kind kind = Kind::barrier;
  std::size_t count = 0;  // elements of one rank's part
  std::size_t elements_sent = 0;
  std::size_t elements_received = 0;
  void* send = nullptr;
  void* receive = nullptr;  // for a broadcast: its only buffer
  int rank = 0;
  int size = 1;
  /// For ping_pong: ranks 0 and 1, 2 and 3, ... send to each other, the even one first; -1: the last
  /// rank has no partner.
  [[nodiscard]] int partner() const { return (rank ^ 1) < size ? (rank ^ 1) : -1; }
  [[nodiscard]] int next() const { return (rank + 1) % size; }
  [[nodiscard]] int previous() const { return (rank + size - 1) % size; }
};

/// A block of calls of the library below.
using Plain = std::function<Block(const Work&)>;

/// A block of back-to-back calls, after which `wait` waits for them.
template <typename Call, typename Wait>
Block block_of(Call call, Wait wait) {
  return [call, wait](int calls) {
    for (int i = 0; i < calls; ++i) call();
    wait();
  };
}

/// main() of both programs, whose arguments are `KEY=VALUE ...`:
///   seconds=480      for all points together
///   half_width=0.02  a point ends when the interval of the ratio is this narrow
///   sizes=8,1024     bytes of the larger buffer
///   itself=1         compares the library with itself, which measures only chance
/// Rank 0 prints a line for each point: "CALL BYTES ROUNDS CALLS OURS_US PLAIN_US RATIO LOW HIGH".
/// Exit code 1: the results differ.
int pairs_main(int argc, char** argv, dlaunch::collectives::Communicator& world, Group& group,
               bool on_device, const Plain& plain);

/// The value of KEY=VALUE among the arguments.
std::string word_of(int argc, char** argv, const std::string& key, const std::string& otherwise);

/// Ends the job if a call has failed.
void need(const dlaunch::collectives::Status& status);
