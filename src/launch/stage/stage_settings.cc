#include "launch/stage/stage_settings.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "fabric/net.h"
#include "node/stage/stage_source.h"
#include "os/own_machine.h"
#include "plan/candidates.h"
#include "sync/pace.h"
#include "sync/rules.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

// A firewall that drops what nodes send to the launcher costs kReach, which must be short beside
// the time that kLeastDirect takes.
constexpr std::uint64_t kLeastDirect = std::uint64_t{128} << 20;
constexpr Duration kReach{1000};

/// The source's own addresses, best first.
std::vector<std::string> addresses_between(RendezvousSpec rendezvous, const Node* source,
                                           const Node* node) {
  std::vector<std::string> addresses;
  if (source == nullptr || node == nullptr) return addresses;
  rendezvous.address = "auto";  // which may be another node's
  Cluster both;
  both.nodes = {*source, *node};
  const auto candidates = rendezvous_candidates(rendezvous, both);
  if (!candidates) return addresses;
  for (const Candidate& candidate : *candidates) {
    if (candidate.is_ip && candidate.is_own) addresses.push_back(candidate.address);
  }
  return addresses;
}

/// Nodes whose network cards are far slower than the others' would slow those after them. What the
/// cards do not show is found while the blocks flow (sync/pace.h).
void put_slow_last(std::vector<StageRunSettings::To>& nodes, const RendezvousSpec& rendezvous,
                   const Cluster& cluster) {
  const auto speed_of = [&](const StageRunSettings::To& to) {
    const Node* const node = cluster.find(to.node);
    return node == nullptr ? 0 : fastest_card(rendezvous, node->facts);
  };
  std::vector<std::uint32_t> speeds;
  for (const auto& to : nodes) {
    if (const std::uint32_t speed = speed_of(to); speed > 0) speeds.push_back(speed);
  }
  if (speeds.empty()) return;
  const auto median = speeds.begin() + static_cast<std::ptrdiff_t>(speeds.size() / 2);
  std::nth_element(speeds.begin(), median, speeds.end());
  std::stable_partition(nodes.begin(), nodes.end(), [&](const auto& to) {
    const std::uint32_t speed = speed_of(to);
    return speed == 0 || speed > *median / sync::Pace::kFar;
  });
}

std::string absolute(const std::string& from, const std::string& workdir, const std::string& home) {
  if (from.starts_with('/')) return from;
  return from.starts_with("~/") ? home + from.substr(1) : workdir + '/' + from;
}

const Node* node_named(const Cluster& cluster, const std::string& name) {
  const auto found = std::find_if(cluster.nodes.begin(), cluster.nodes.end(),
                                  [&](const Node& node) { return node.name == name; });
  return found == cluster.nodes.end() ? nullptr : &*found;
}

Error unknown_source(const JobSpec& spec, const std::string& from, const Cluster& cluster) {
  const std::string node = stage_source_path(from).node;
  const auto& hosts = spec.hosts.hosts;
  if (std::any_of(hosts.begin(), hosts.end(),
                  [&](const HostSpec& one) { return one.name == node; }))
    return {exit_code::kNodeLost, "stage: " + plain_line(from) + ": " + plain_line(node) +
                                      " is not among the remaining nodes"};
  constexpr std::size_t kMost = 4;
  std::string names;
  for (std::size_t i = 0; i < std::min(kMost, cluster.nodes.size()); ++i)
    names += (i == 0 ? "" : ", ") + cluster.nodes[i].name;
  if (cluster.nodes.size() > kMost) names += ", ...";
  return {exit_code::kJobFile, "stage: " + plain_line(from) + ": " + plain_line(node) +
                                   " is not a node of this job (" + names +
                                   "); for a path on this machine: ./" + plain_line(from)};
}

/// Compares targets of lines with different sources, which are staged one after the other.
/// StageSource compares those of one source. A node must not put a link where another target
/// begins.
Status check_targets(const std::vector<StagePart>& parts) {
  const auto normal = [](const std::string& path) {
    return sync::without_slashes(std::filesystem::path(path).lexically_normal());
  };
  struct Target {
    std::string path;
    std::size_t part;
  };
  std::vector<Target> targets;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (const StageItem& item : parts[part].settings.items) {
      const std::string path = normal(item.to);
      for (const Target& other : targets) {
        if (other.part == part && !parts[part].source) continue;
        if (path == other.path || sync::lies_in(path, other.path) ||
            sync::lies_in(other.path, path))
          return fail(exit_code::kJobFile,
                      "stage: " + plain_line(other.path) + " and " + plain_line(path) +
                          " are the same, or one lies inside the other; a line that stages from "
                          "a node needs a separate target");
      }
      targets.push_back({path, part});
    }
  }
  return {};
}

/// The size of a file or folder on this machine.
Result<SyncExtent> extent_of(const std::string& path, const std::vector<std::string>& exclude) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return fail(exit_code::kJobFile, "stage: " + plain_line(path) + ": " + errno_text(errno));
  if (!S_ISDIR(info.st_mode)) return SyncExtent{1, static_cast<std::uint64_t>(info.st_size)};
  WorkdirLister lister(StageSource::folder_settings({path, "", false, exclude}, "stage: "));
  while (!lister.step()) {
  }
  if (!lister.status()) return tl::unexpected(lister.status().error());
  return lister.extent();
}

/// A part without lines yet. `source` nullptr: this machine.
StagePart part_from(const Node* source, const JobSpec& spec, const Cluster& cluster,
                    StageRunSettings settings) {
  StagePart part;
  if (source != nullptr) {
    // First in the chain: a copy on the source itself needs no other node.
    std::stable_partition(settings.nodes.begin(), settings.nodes.end(),
                          [&](const auto& one) { return one.node == source->id; });
    part.source = source->id;
    settings.self = source->name;
    settings.own_addresses = [&cluster, rendezvous = spec.rendezvous, id = source->id,
                              nodes = settings.nodes](std::size_t node) {
      return addresses_between(rendezvous, cluster.find(id), cluster.find(nodes[node].node));
    };
  } else if (spec.stage_via == StageVia::nodes) {
    settings.least_direct = kLeastDirect;
    settings.reach = kReach;
    settings.own_addresses = [&cluster, rendezvous = spec.rendezvous,
                              nodes = settings.nodes](std::size_t node) {
      if (!nodes[node].forwards) return std::vector<std::string>();  // it is this machine
      Node here;
      here.facts.interfaces = fabric::read_interfaces("", fabric::read_address_rows());
      return addresses_between(rendezvous, &here, cluster.find(nodes[node].node));
    };
  }
  settings.addresses = [&cluster, rendezvous = spec.rendezvous, nodes = settings.nodes](
                           std::size_t from, std::size_t to) {
    return addresses_between(rendezvous, cluster.find(nodes[from].node),
                             cluster.find(nodes[to].node));
  };
  part.settings = std::move(settings);
  return part;
}

}  // namespace

StageSourcePath stage_source_path(const std::string& from) {
  const std::size_t colon = from.find(":/");
  if (colon == std::string::npos || colon == 0 || from.find('/') < colon) return {"", from};
  std::string node = from.substr(0, colon);
  if (node.size() > 2 && node.front() == '[' && node.back() == ']')
    node = node.substr(1, node.size() - 2);
  return {std::move(node), from.substr(colon + 1)};
}

std::string stages_as(const std::string& run_id) {
  return run_id.empty()
             ? "dlaunch stage on " + own_hostname() + ", process " + std::to_string(::getpid())
             : "run " + run_id;
}

std::vector<std::string> stage_targets(const JobSpec& spec, const std::string& workdir,
                                       const std::string& home) {
  std::vector<std::string> targets;
  for (const Transfer& line : staged_items(spec)) {
    const std::filesystem::path from = absolute(stage_source_path(line.from).path, workdir, home);
    targets.push_back(line.to.empty() ? from.lexically_normal().string() : line.to);
  }
  return targets;
}

Result<std::vector<PlannedCopy>> planned_copies(const JobSpec& spec, const LaunchPlan& plan,
                                                const std::string& home) {
  const std::vector<std::string> targets = stage_targets(spec, plan.workdir, home);
  const std::vector<Transfer> lines = staged_items(spec);
  std::vector<PlannedCopy> copies;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    PlannedCopy copy{lines[i].from, targets[i], lines[i].unpack};
    if (stage_source_path(copy.from).node.empty()) {
      copy.from = sync::without_slashes(
          std::filesystem::path(absolute(copy.from, plan.workdir, home)).lexically_normal());
      const auto extent = extent_of(copy.from, lines[i].exclude);
      if (!extent) return tl::unexpected(extent.error());
      copy.extent = *extent;
    }
    copies.push_back(std::move(copy));
  }
  return copies;
}

Result<std::vector<StagePart>> stage_parts(const JobSpec& spec, const LaunchPlan& plan,
                                           const Cluster& cluster, StageTo to,
                                           const std::string& home, StageRunSettings settings) {
  settings.needs_all = spec.active_env == ActiveEnv::required;
  for (const Node& node : cluster.nodes) {
    if (to == StageTo::plan && !plan.find(node.id)) continue;
    const bool forwards = !node.is_launcher && spec.stage_via == StageVia::nodes;
    settings.nodes.push_back({node.id, node.name, forwards});
  }
  put_slow_last(settings.nodes, spec.rendezvous, cluster);
  std::vector<StagePart> parts;
  const std::vector<std::string> targets = stage_targets(spec, plan.workdir, home);
  const std::vector<Transfer> lines = staged_items(spec);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const StageSourcePath from = stage_source_path(lines[i].from);
    const Node* const node = from.node.empty() ? nullptr : node_named(cluster, from.node);
    if (node == nullptr && !from.node.empty())
      return tl::unexpected(unknown_source(spec, lines[i].from, cluster));
    const bool is_here = node == nullptr || node->is_launcher;
    const auto source = is_here ? std::nullopt : std::optional(node->id);
    auto part = std::find_if(parts.begin(), parts.end(),
                             [&](const StagePart& one) { return one.source == source; });
    if (part == parts.end())
      part =
          parts.insert(parts.end(), part_from(is_here ? nullptr : node, spec, cluster, settings));
    part->settings.items.push_back(
        {absolute(from.path, plan.workdir, home), targets[i], lines[i].unpack, lines[i].exclude,
         i < lines.size() - spec.stage.size() && spec.sync.remove == SyncSpec::Delete::never});
  }
  if (const Status targets_differ = check_targets(parts); !targets_differ)
    return tl::unexpected(targets_differ.error());
  return parts;
}

}  // namespace dlaunch
