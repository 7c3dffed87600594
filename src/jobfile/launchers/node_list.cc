#include "jobfile/launchers/node_list.h"

#include <algorithm>

#include "jobfile/hostlist.h"
#include "jobfile/scheduler_hosts.h"
#include "jobfile/slurm_allocation.h"
#include "model/ip_address.h"
#include "text/strings.h"

namespace dlaunch::launchers {

namespace {

tl::unexpected<Error> wrong(std::string message) {
  return fail(exit_code::kPreflight, std::move(message));
}

Result<std::string> content_of(std::string_view variable, const std::string& path,
                               const WorldInput& input) {
  auto text = input.read_file(path);
  if (text) return text;
  return wrong(std::string(variable) + ": " + text.error().message +
               "\n         if only the first node has this file: --master-addr \"$(head -n 1 $" +
               std::string(variable) + ")\"");
}

Result<std::optional<NodeList>> nodes_of_jsrun(const WorldInput& input) {
  constexpr std::string_view kRankfile = "LSB_DJOB_RANKFILE";
  const auto path = find_variable(input.environment, kRankfile);
  if (!path || path->empty()) return std::optional<NodeList>();
  const auto text = content_of(kRankfile, *path, input);
  if (!text) return tl::unexpected(text.error());
  NodeList list{std::string(kRankfile), {}};
  std::vector<std::string> lines = lines_of(*text);
  if (!lines.empty()) lines.erase(lines.begin());
  for (std::string& line : lines) {
    const bool known = std::any_of(list.hosts.begin(), list.hosts.end(),
                                   [&](const WorldHost& host) { return host.name == line; });
    if (!known) list.hosts.push_back({std::move(line), 0});
  }
  if (list.hosts.empty()) return std::optional<NodeList>();
  return std::optional(std::move(list));
}

void take_slots_of_slurm(const Environment& env, NodeList& list) {
  const auto counts = jobfile::read_repeated_counts(
      find_variable(env, "SLURM_TASKS_PER_NODE").value_or(""), jobfile::kMostHosts);
  if (!counts || counts->size() != list.hosts.size()) return;
  for (std::size_t i = 0; i < counts->size(); ++i)
    list.hosts[i].ranks = static_cast<std::uint32_t>((*counts)[i]);
}

constexpr const char* kInOrder =
    "\n         try: mpirun --map-by ppr:N:node or --map-by slot, so that ranks are numbered node "
    "by node";

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

/// The ranks of each host if the hosts are filled in order; empty: slots unknown, or too few.
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

bool set_node_in(std::vector<WorldHost> hosts, const std::function<bool(std::string_view)>& is_own,
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
  return wrong(rank + " is process " + std::to_string(world.local_rank) + " of " +
               std::to_string(world.local_size) + " on this node, which does not match " +
               list.origin + " (" + names_of(list) + ") with ranks numbered node by node" +
               kInOrder);
}

Status without_list(World& world) {
  if (world.size % world.local_size != 0) {
    return wrong(
        "the " + counted(world.size, "rank") + " are spread unevenly over the nodes (" +
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

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    line = trimmed(line.substr(0, line.find('#')));
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

Result<std::optional<NodeList>> own_nodes(const Environment& env) {
  const auto text = find_variable(env, kOwnHosts);
  if (!text || text->empty()) return std::optional<NodeList>();
  const auto entries = jobfile::expand_hostlist(*text, kOwnHosts);
  if (!entries) return wrong(entries.error().message);
  NodeList list{std::string(kOwnHosts), {}};
  for (const jobfile::HostEntry& entry : *entries)
    list.hosts.push_back({entry.name, static_cast<std::uint32_t>(entry.slots)});
  return std::optional(std::move(list));
}

Result<std::optional<NodeList>> scheduler_nodes(Launcher launcher, const WorldInput& input) {
  if (launcher == Launcher::jsrun) return nodes_of_jsrun(input);
  const auto variable = jobfile::find_scheduler_hosts(input.environment);
  if (!variable) return std::optional<NodeList>();
  std::string text = variable->value;
  if (variable->is_file) {
    auto content = content_of(variable->name, variable->value, input);
    if (!content) return tl::unexpected(content.error());
    text = std::move(*content);
  }
  const auto hosts = jobfile::read_scheduler_hosts(*variable, text);
  if (!hosts) return wrong(hosts.error().message);
  NodeList list{std::string(variable->name), {}};
  for (const HostSpec& host : *hosts)
    list.hosts.push_back({host.name, static_cast<std::uint32_t>(std::max(host.slots, 0))});
  if (variable->name == "SLURM_JOB_NODELIST") take_slots_of_slurm(input.environment, list);
  return std::optional(std::move(list));
}

bool is_own_host(std::string_view name, std::string_view hostname,
                 const std::vector<std::string>& addresses) {
  if (const auto ip = parse_ip(name)) {
    return std::any_of(addresses.begin(), addresses.end(),
                       [&](const std::string& own) { return parse_ip(own) == ip; });
  }
  if (name == hostname) return true;
  const auto has_domain = [](std::string_view text) { return text.find('.') != text.npos; };
  if (has_domain(name) && has_domain(hostname)) return false;
  return name.substr(0, name.find('.')) == hostname.substr(0, hostname.find('.'));
}

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
  if (set_node_in(filled_by_slots(*list, world.size), is_own, world)) return {};
  if (set_node_in(evenly(*list, world), is_own, world)) return {};
  return refuse(*list, is_own, world);
}

}  // namespace dlaunch::launchers
