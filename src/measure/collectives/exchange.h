// Lets ranks exchange a few bytes before there is a communicator, over the PMI-1 descriptor that
// their launcher gives to each (PMI_FD); with dlaunch these bytes use its own channels. Needs no
// MPI.
//
// The protocol is PMI-1 as MPICH's simple client speaks it (src/pmi in its sources).
#ifndef DLAUNCH_COLLECTIVES_EXCHANGE_H
#define DLAUNCH_COLLECTIVES_EXCHANGE_H

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "dlaunch/collectives/status.h"

namespace dlaunch::collectives {

/// Not thread-safe. One per process, since the descriptor carries one conversation.
class Exchange {
 public:
  /// Uses PMI_FD, PMI_RANK and PMI_SIZE. A rank without them is a world of its own, unless
  /// WORLD_SIZE says that there are others. `timeout`: for each later request of all users; zero:
  /// none.
  static Result<std::shared_ptr<Exchange>> get(std::chrono::milliseconds timeout);

  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  /// Collective: every rank gets the bytes of each rank, by rank. 1 to 500 bytes of any value.
  Result<std::vector<std::string>> gather(std::string_view mine);

  /// Collective: every rank gets the bytes of rank 0. At most 500 bytes of any value.
  Result<std::string> broadcast(std::string_view bytes);

 private:
  Exchange(int descriptor, int rank, int size, std::chrono::milliseconds timeout);
  /// Sends one line and returns the answer, which must begin with "cmd=`expected`".
  Result<std::string> ask(std::string_view line, std::string_view expected);
  Result<std::string> read_line();
  Status begin();
  Status put(const std::string& key, std::string_view bytes);
  Result<std::string> get(const std::string& key);
  Result<std::string> answer_to(std::string_view line, std::string_view expected);

  int descriptor_;
  int rank_;
  int size_;
  std::chrono::milliseconds timeout_;
  std::string space_;   // the name of the key-value space
  std::string unread_;  // bytes after the last line
  int rounds_ = 0;
  bool broken_ = false;  // a late answer could be taken for the next one
  pid_t owner_;          // so that a forked child stays out of the conversation
};

/// The value of `key` in "cmd=x key=value ..."; empty: there is none.
std::string_view field_of(std::string_view line, std::string_view key) noexcept;
std::string hex_of(std::string_view bytes);
/// Empty if the text does not consist of hexadecimal digits.
std::string bytes_of(std::string_view hex);

}  // namespace dlaunch::collectives

#endif
