// How ranks tell each other a few bytes before there is a communicator: over the PMI-1 descriptor
// that whoever has started them gives to each (PMI_FD), and so, with dlaunch, over its own
// channels. No MPI is needed for it.
//
// The protocol is that of "PMI-1: the wire protocol" as MPICH's simple client speaks it (src/pmi in
// its sources).
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

/// Not thread-safe. One for each process: the descriptor has one conversation.
class Exchange {
 public:
  /// Of PMI_FD, PMI_RANK, PMI_SIZE. A rank without them is a world of its own, if nothing says that
  /// there are others (WORLD_SIZE). `timeout`: of each question from now on, of
  /// all who share it; zero for none.
  static Result<std::shared_ptr<Exchange>> get(std::chrono::milliseconds timeout);

  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  /// What each rank gives, by rank, at all ranks; a collective call. 1 to 500 bytes of any value.
  Result<std::vector<std::string>> gather(std::string_view mine);

  /// What rank 0 gives, at all ranks; a collective call. At most 500 bytes, of any value.
  Result<std::string> broadcast(std::string_view bytes);

 private:
  Exchange(int descriptor, int rank, int size, std::chrono::milliseconds timeout);
  /// Sends one line, and returns the answer's fields behind "cmd=`expected`".
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
  std::string unread_;  // behind the last line
  int rounds_ = 0;
  bool broken_ = false;  // an answer may still come, and would be taken for the next one
  pid_t owner_;          // not a child that was forked later
};

/// The value of `key` in "cmd=x key=value ...", or an empty text.
std::string_view field_of(std::string_view line, std::string_view key) noexcept;
std::string hex_of(std::string_view bytes);
/// Empty where the text is none of hexadecimal digits.
std::string bytes_of(std::string_view hex);

}  // namespace dlaunch::collectives

#endif
