// The collective library beside plain calls of the library below it: the same calls on the same
// buffers, in turns.
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

/// One call: float32, and sums where it reduces; root 0.
struct Work {
  Kind kind = Kind::barrier;
  std::size_t count = 0;  // elements of one rank's part
  std::size_t elements_sent = 0;
  std::size_t elements_received = 0;
  void* send = nullptr;
  void* receive = nullptr;  // of a broadcast: the buffer
  int rank = 0;
  int size = 1;
  /// Of a ping_pong: ranks 0 and 1, 2 and 3, ... send to each other, the even one first; -1: nobody
  /// is left for the last one.
  [[nodiscard]] int partner() const { return (rank ^ 1) < size ? (rank ^ 1) : -1; }
  [[nodiscard]] int next() const { return (rank + 1) % size; }
  [[nodiscard]] int previous() const { return (rank + size - 1) % size; }
};

/// A block of calls made in plain words.
using Plain = std::function<Block(const Work&)>;

/// Calls that follow each other, and what waits for them.
template <typename Call, typename Wait>
Block block_of(Call call, Wait wait) {
  return [call, wait](int calls) {
    for (int i = 0; i < calls; ++i) call();
    wait();
  };
}

/// main() of both programs, whose words are `KEY=VALUE ...`:
///   seconds=480      for all points together
///   half_width=0.02  of a ratio's interval: then a point is known well enough
///   sizes=8,1024     bytes of the larger buffer
///   itself=1         the library beside itself: nothing but chance is measured
/// Rank 0 prints a line for each point: "CALL BYTES ROUNDS CALLS OURS_US PLAIN_US RATIO LOW HIGH".
/// Exit code 1: the two have computed different numbers.
int pairs_main(int argc, char** argv, dlaunch::collectives::Communicator& world, Group& group,
               bool on_device, const Plain& plain);

/// The value of KEY=VALUE among the words.
std::string word_of(int argc, char** argv, const std::string& key, const std::string& otherwise);

/// Ends the job where a call has failed.
void need(const dlaunch::collectives::Status& status);
