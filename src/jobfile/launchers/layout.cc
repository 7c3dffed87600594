#include "jobfile/launchers/layout.h"

#include <algorithm>

#include "text/strings.h"

namespace dlaunch::launchers {

namespace {

constexpr const char* kInOrder =
    "\n         try: mpirun --map-by ppr:N:node or --map-by slot, so that ranks count up node by "
    "node";

tl::unexpected<Error> wrong(std::string message) {
  return fail(exit_code::kPreflight, std::move(message));
}

/// "a, b and 14 more"
std::string names_of(const NodeList& list) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, list.hosts.size()); ++i)
    text += (i == 0 ? "" : ", ") + list.hosts[i].name;
  if (list.hosts.size() > kShown)
    text += " and " + std::to_string(list.hosts.size() - kShown) + " more";
  return text;
}

/// The ranks of each host if hosts are filled in order; empty: no slots, or too few.
std::vector<WorldHost> filled_by_slots(const NodeList& list, std::uint32_t size) {
  std::vector<WorldHost> hosts;
  std::uint32_t left = size;
  for (const WorldHost& host : list.hosts) {
    if (host.ranks == 0) return {};
    const std::uint32_t here = std::min(host.ranks, left);
    if (here == 0) break;
    hosts.push_back({host.name, here});
    left -= here;
  }
  return left == 0 ? hosts : std::vector<WorldHost>();
}

std::vector<WorldHost> evenly(const NodeList& list, const World& world) {
  if (world.size % world.local_size != 0) return {};
  const std::size_t nodes = world.size / world.local_size;
  if (list.hosts.size() < nodes) return {};
  std::vector<WorldHost> hosts(list.hosts.begin(),
                               list.hosts.begin() + static_cast<std::ptrdiff_t>(nodes));
  for (WorldHost& host : hosts) host.ranks = world.local_size;
  return hosts;
}

bool place(std::vector<WorldHost> hosts, const std::function<bool(std::string_view)>& is_own,
           World& world) {
  std::uint32_t first = 0;
  for (std::uint32_t node = 0; node < hosts.size(); ++node) {
    const WorldHost& host = hosts[node];
    if (world.rank < first + host.ranks) {
      if (world.rank - first != world.local_rank || host.ranks != world.local_size ||
          !is_own(host.name))
        return false;
      world.node = node;
      world.nodes = static_cast<std::uint32_t>(hosts.size());
      world.hosts = std::move(hosts);
      world.in_order = true;
      return true;
    }
    first += host.ranks;
  }
  return false;
}

Status refuse(const NodeList& list, const std::function<bool(std::string_view)>& is_own,
              const World& world) {
  const bool is_there = std::any_of(list.hosts.begin(), list.hosts.end(),
                                    [&](const WorldHost& host) { return is_own(host.name); });
  const std::string rank = "rank " + std::to_string(world.rank);
  if (!is_there) {
    return wrong(list.origin + " names " + names_of(list) + ", and none of them is this machine (" +
                 rank + ")\n         try: --master-addr HOST, the host of rank 0");
  }
  return wrong(rank + " is not on the node where " + list.origin + " (" + names_of(list) +
               ") has it, if ranks count up node by node: it is process " +
               std::to_string(world.local_rank) + " of " + std::to_string(world.local_size) +
               " here" + kInOrder);
}

Status without_list(World& world) {
  if (world.size % world.local_size != 0) {
    return wrong(
        "the world of " + counted(world.size, "rank") + " is spread unevenly (" +
        std::to_string(world.local_size) + " on this node), and " + world.launcher +
        " does not say how\n         try: the same number of ranks on each node, or dlaunch run");
  }
  if (world.rank % world.local_size != world.local_rank) {
    return wrong("rank " + std::to_string(world.rank) + " is process " +
                 std::to_string(world.local_rank) + " of " + std::to_string(world.local_size) +
                 " on its node, so ranks are not numbered node by node, and the index of this node "
                 "is unknown" +
                 kInOrder);
  }
  world.node = world.rank / world.local_size;
  world.nodes = world.size / world.local_size;
  world.in_order = true;
  return {};
}

}  // namespace

Status find_node(const std::optional<NodeList>& list,
                 const std::function<bool(std::string_view)>& is_own, World& world) {
  if (world.local_size == world.size) {
    if (world.local_rank != world.rank) {
      return wrong("all " + counted(world.size, "rank") + " are on this node, but rank " +
                   std::to_string(world.rank) + " has the local rank " +
                   std::to_string(world.local_rank));
    }
    world.node = 0;
    world.nodes = 1;
    world.in_order = true;
    return {};
  }
  if (!list) return without_list(world);
  if (place(filled_by_slots(*list, world.size), is_own, world)) return {};
  if (place(evenly(*list, world), is_own, world)) return {};
  return refuse(*list, is_own, world);
}

}  // namespace dlaunch::launchers
