#include "plan/machines.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "text/strings.h"

namespace dlaunch {

namespace {

std::set<std::string> ipv4_of(const NodeFacts& facts) {
  std::set<std::string> found;
  for (const NetworkInterface& interface : facts.interfaces) {
    for (const InterfaceAddress& address : interface.addresses) {
      if (address.text.find(':') == std::string::npos) found.insert(address.text);
    }
  }
  return found;
}

/// The nodes grouped by machine, in the order of the nodes. Uses a look-up, because there may be a
/// thousand agents.
std::vector<std::vector<std::size_t>> machines_of(const Cluster& cluster, std::size_t nodes) {
  std::vector<std::vector<std::size_t>> groups;
  std::unordered_multimap<std::string, std::size_t> known;  // machine -> index of a group
  for (std::size_t i = 0; i < nodes; ++i) {
    const NodeFacts& facts = cluster.nodes[i].facts;
    const auto [begin, end] = known.equal_range(facts.machine);
    const auto same = std::find_if(begin, end, [&](const auto& one) {
      return is_same_machine(cluster.nodes[groups[one.second].front()].facts, facts);
    });
    if (same != end) {
      groups[same->second].push_back(i);
      continue;
    }
    if (!facts.machine.empty()) known.emplace(facts.machine, groups.size());
    groups.push_back({i});
  }
  return groups;
}

std::vector<CpuCore> free_cores(const NodeFacts& facts) {
  std::vector<CpuCore> free;
  std::copy_if(facts.cores.begin(), facts.cores.end(), std::back_inserter(free),
               [](const CpuCore& core) { return !core.taken; });
  return free;
}

}  // namespace

bool is_same_machine(const NodeFacts& a, const NodeFacts& b) {
  return !a.machine.empty() && a.machine == b.machine && a.hostname == b.hostname &&
         ipv4_of(a) == ipv4_of(b);
}

Status check_machines(const JobSpec& spec, const Cluster& cluster) {
  if (spec.connect.via == Connect::Via::local) return {};
  for (const std::vector<std::size_t>& group : machines_of(cluster, cluster.nodes.size())) {
    if (group.size() == 1) continue;
    const std::string& first = cluster.nodes[group[0]].name;
    const std::string& second = cluster.nodes[group[1]].name;
    return fail(exit_code::kJobFile,
                "the hosts \"" + first + "\" and \"" + second +
                    "\" are one machine, whose host name is " +
                    cluster.nodes[group[0]].facts.hostname +
                    "\n         try: name it once; slots or processes_per_node say how many ranks "
                    "it gets");
  }
  return {};
}

std::vector<MachineShare> share_machines(const Cluster& cluster,
                                         const std::vector<std::uint32_t>& ranks_of_node) {
  std::vector<MachineShare> shares(ranks_of_node.size());
  for (const std::vector<std::size_t>& group : machines_of(cluster, ranks_of_node.size())) {
    MachineShare whole{0, 0, 0, {}};
    for (const std::size_t node : group) {
      whole.nodes += ranks_of_node[node] > 0 ? 1 : 0;
      whole.ranks += ranks_of_node[node];
    }
    if (whole.nodes < 2) continue;  // the usual case
    const std::vector<CpuCore> free = free_cores(cluster.nodes[group.front()].facts);
    whole.cores = free.size();
    std::size_t before = 0;
    for (const std::size_t node : group) {
      shares[node] = whole;
      const std::size_t after = before + ranks_of_node[node];
      if (whole.ranks <= free.size()) {
        const auto at = [&](std::size_t ranks) {
          return free.begin() + static_cast<std::ptrdiff_t>(free.size() * ranks / whole.ranks);
        };
        shares[node].mine.assign(at(before), at(after));
      }
      before = after;
    }
  }
  return shares;
}

std::optional<Cluster> with_shares(const Cluster& cluster,
                                   const std::vector<MachineShare>& shares) {
  const auto is_shared = [](const MachineShare& share) { return share.nodes > 1; };
  if (std::none_of(shares.begin(), shares.end(), is_shared)) return std::nullopt;
  Cluster shared = cluster;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].nodes > 1) shared.nodes[i].facts.cores = shares[i].mine;
  }
  return shared;
}

std::string note_of_share(const MachineShare& share, const std::string& note) {
  const std::string nodes = std::to_string(share.nodes) + " nodes are this machine";
  if (!share.mine.empty()) return note + "; " + nodes;
  return "not bound: " + nodes + ", with " + std::to_string(share.ranks) + " ranks for " +
         counted(share.cores, "free core");
}

}  // namespace dlaunch
