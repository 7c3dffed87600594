#include "plan/bind.h"

#include <algorithm>

#include "text/strings.h"

namespace dlaunch {

namespace {

/// The free cores of a NUMA node, or of several (see merge), and the local ranks that share them.
struct Pool {
  int numa = 0;
  std::vector<const CpuCore*> cores;
  std::vector<std::size_t> ranks;
};

std::size_t free_cores(const NodeFacts& facts) {
  return static_cast<std::size_t>(std::count_if(facts.cores.begin(), facts.cores.end(),
                                                [](const CpuCore& core) { return !core.taken; }));
}

std::vector<Pool> pools_of(const NodeFacts& facts) {
  std::vector<Pool> pools;
  for (const CpuCore& core : facts.cores) {
    if (core.taken) continue;
    if (!pools.empty() && pools.back().numa == core.numa) {  // cores come in order of NUMA node
      pools.back().cores.push_back(&core);
      continue;
    }
    auto pool = std::find_if(pools.begin(), pools.end(),
                             [&](const Pool& p) { return p.numa == core.numa; });
    if (pool == pools.end()) pool = pools.insert(pools.end(), Pool{core.numa, {}, {}});
    pool->cores.push_back(&core);
  }
  return pools;
}

/// Makes as many pools as there are ranks, each of one or more neighbouring NUMA nodes.
std::vector<Pool> merge(const std::vector<Pool>& pools, std::size_t ranks) {
  std::vector<Pool> merged(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::size_t end = (r + 1) * pools.size() / ranks;
    for (std::size_t p = r * pools.size() / ranks; p < end; ++p) {
      merged[r].cores.insert(merged[r].cores.end(), pools[p].cores.begin(), pools[p].cores.end());
    }
  }
  return merged;
}

/// Assigns ranks with a home to its pool; returns the ranks without a home or without a core there.
std::vector<std::size_t> settle_homes(std::vector<Pool>& pools, const std::vector<int>& homes) {
  std::vector<std::size_t> floating;
  for (std::size_t rank = 0; rank < homes.size(); ++rank) {
    const auto home = std::find_if(pools.begin(), pools.end(), [&](const Pool& p) {
      return homes[rank] >= 0 && p.numa == homes[rank] && p.ranks.size() < p.cores.size();
    });
    if (home == pools.end()) {
      floating.push_back(rank);
    } else {
      home->ranks.push_back(rank);
    }
  }
  return floating;
}

/// Gives each rank a place in the pool that then has the most cores per rank, then fills these
/// places in the order of ranks and pools.
void deal_out(std::vector<Pool>& pools, const std::vector<std::size_t>& floating) {
  std::vector<std::size_t> seats(pools.size(), 0);
  for (std::size_t i = 0; i < floating.size(); ++i) {
    std::size_t best = pools.size();
    for (std::size_t p = 0; p < pools.size(); ++p) {
      const std::size_t sharers = pools[p].ranks.size() + seats[p] + 1;
      if (sharers > pools[p].cores.size()) continue;
      // compares cores[p] / sharers[p] with cores[best] / sharers[best] without division
      if (best == pools.size() ||
          pools[p].cores.size() * (pools[best].ranks.size() + seats[best] + 1) >
              pools[best].cores.size() * sharers) {
        best = p;
      }
    }
    ++seats[best];
  }
  std::size_t next = 0;
  for (std::size_t p = 0; p < pools.size(); ++p) {
    for (; seats[p] > 0; --seats[p]) pools[p].ranks.push_back(floating[next++]);
    std::sort(pools[p].ranks.begin(), pools[p].ranks.end());
  }
}

void cut_into_blocks(const Pool& pool, std::vector<std::vector<int>>& cpus) {
  std::size_t core = 0;
  for (std::size_t i = 0; i < pool.ranks.size(); ++i) {
    const std::size_t size =
        pool.cores.size() / pool.ranks.size() + (i < pool.cores.size() % pool.ranks.size() ? 1 : 0);
    std::vector<int>& mine = cpus[pool.ranks[i]];
    mine.reserve(size * pool.cores.front()->threads.size());
    for (const std::size_t end = core + size; core < end; ++core) {
      mine.insert(mine.end(), pool.cores[core]->threads.begin(), pool.cores[core]->threads.end());
    }
    std::sort(mine.begin(), mine.end());
  }
}

std::string why_not_bound(const NodeFacts& facts, std::size_t ranks, std::size_t free) {
  if (facts.cores.empty()) return "not bound: the cores of this node are not known";
  std::string note = "not bound: " + counted(ranks, "rank");
  if (free == facts.cores.size()) return note + " but " + counted(free, "core");
  return note + " but " + counted(free, "free core") + " of " + std::to_string(facts.cores.size()) +
         ", other runs hold the rest";
}

}  // namespace

CoreBinding bind_ranks(const NodeFacts& facts, const std::vector<int>& homes,
                       Binding::Cpus wanted) {
  CoreBinding binding{std::vector<std::vector<int>>(homes.size()), "", false};
  const std::size_t free = free_cores(facts);
  if (wanted == Binding::Cpus::none) {
    binding.note = "not bound: binding.cpus is none";
    return binding;
  }
  if (homes.size() > free) {
    binding.note = why_not_bound(facts, homes.size(), free);
    binding.is_crowded_out = homes.size() <= facts.cores.size();
    return binding;
  }
  std::vector<Pool> pools = pools_of(facts);
  const bool has_home = std::any_of(homes.begin(), homes.end(), [](int home) { return home >= 0; });
  if (!has_home && homes.size() < pools.size()) pools = merge(pools, homes.size());
  deal_out(pools, settle_homes(pools, homes));
  for (const Pool& pool : pools) cut_into_blocks(pool, binding.cpus);
  binding.note = has_home ? "bound to cores near each rank's GPU"
                          : "bound: " + counted(free, "core") + " shared evenly";
  if (free < facts.cores.size())
    binding.note += ", other runs hold " + std::to_string(facts.cores.size() - free);
  return binding;
}

std::size_t cores_to_share(const NodeFacts& facts, std::size_t ranks) {
  const std::size_t free = free_cores(facts);
  return free >= ranks ? free : facts.cores.size();
}

int threads_per_rank(const NodeFacts& facts, std::size_t ranks) {
  if (ranks == 0) return 1;
  return static_cast<int>(std::max<std::size_t>(1, cores_to_share(facts, ranks) / ranks));
}

}  // namespace dlaunch
