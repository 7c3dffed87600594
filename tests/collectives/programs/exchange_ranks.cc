// exchange: tests the exchange that transports NCCL's unique id, without NCCL and MPI. Every rank
// gets the bytes of rank 0, and those of every rank.
#include <cstdio>
#include <string>

#include "measure/collectives/exchange.h"

using dlaunch::collectives::Exchange;

int main() {
  auto exchange = Exchange::get(std::chrono::seconds(60));
  if (!exchange) return std::fprintf(stderr, "exchange: %s\n", exchange.status().what().c_str()), 1;
  const int rank = (*exchange)->rank();
  std::string id;
  for (int i = 0; i < 128; ++i) id += static_cast<char>(i * 7);
  for (int round = 0; round < 3; ++round) {
    const auto got = (*exchange)->broadcast(rank == 0 ? id : std::string(128, 'x'));
    if (!got || *got != id)
      return std::fprintf(stderr, "rank %d: %s\n", rank, got.status().what().c_str()), 2;
    id[0] = static_cast<char>(round);
  }
  const auto word = [](int of) { return "rank " + std::to_string(of) + std::string(of % 3, '\0'); };
  for (int round = 0; round < 2; ++round) {
    const auto all = (*exchange)->gather(word(rank + round));
    if (!all || all->size() != static_cast<std::size_t>((*exchange)->size())) return 3;
    for (int of = 0; of < (*exchange)->size(); ++of) {
      if ((*all)[static_cast<std::size_t>(of)] != word(of + round)) return 4;
    }
  }
  if (rank == 0) std::printf("%d ranks agree\n", (*exchange)->size());
}
