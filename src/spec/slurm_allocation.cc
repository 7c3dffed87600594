#include "spec/slurm_allocation.h"

#include <algorithm>
#include <charconv>

#include "spec/hostlist.h"
#include "spec/slurm_gpus.h"
#include "spec/slurm_state.h"

namespace dlaunch {

namespace {

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool good = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return good ? std::optional(number) : std::nullopt;
}

std::string variable(const Environment& environment, std::string_view name) {
  return find_variable(environment, name).value_or("");
}

/// The value of one number for each node; empty when it is not set.
Result<std::vector<int>> counts_of(const Environment& environment, std::string_view name,
                                   std::size_t nodes) {
  const std::string text = variable(environment, name);
  if (text.empty()) return std::vector<int>();
  auto counts = spec::read_repeated_counts(text, nodes);
  if (counts && counts->size() == nodes) return std::move(*counts);
  return fail(exit_code::kJobFile, std::string(name) + ": \"" + text + "\" are not " +
                                       std::to_string(nodes) + " numbers as in \"2(x3),1\"");
}

/// sbatch(1): SLURM_MEM_PER_NODE, _CPU and _GPU are MiB, as asked for or by default; 0 is all
/// memory of the node.
std::int64_t memory_of(const Environment& environment, const SlurmNode& node) {
  const auto mib = [&](std::string_view name) {
    return number_of<std::int64_t>(variable(environment, name)).value_or(0);
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (const std::int64_t all = mib("SLURM_MEM_PER_NODE"); all > 0) return std::min(all, kMost);
  if (const std::int64_t each = mib("SLURM_MEM_PER_CPU"); each > 0)
    return std::min(each, kMost) * node.cpus;
  return std::min(mib("SLURM_MEM_PER_GPU"), kMost) * node.gpus;
}

std::string gib_text(std::int64_t mib) {
  constexpr std::int64_t kMibs = 1024;  // of a GiB
  if (mib < kMibs) return std::to_string(mib) + " MiB";
  const std::int64_t tenths = mib * 10 / kMibs;
  const std::string whole = std::to_string(tenths / 10);
  return (tenths % 10 == 0 ? whole : whole + '.' + std::to_string(tenths % 10)) + " GiB";
}

}  // namespace

namespace spec {

std::optional<std::vector<int>> read_repeated_counts(std::string_view text, std::size_t most) {
  std::vector<int> counts;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    std::size_t times = 1;
    if (const std::size_t open = item.find("(x"); open != std::string_view::npos) {
      const std::string_view repeat = item.substr(open + 2);
      if (!repeat.ends_with(')')) return std::nullopt;
      times = number_of<std::size_t>(repeat.substr(0, repeat.size() - 1)).value_or(0);
      item = item.substr(0, open);
    }
    const auto count = number_of<int>(item);
    if (!count || times == 0 || times > most - std::min(most, counts.size())) return std::nullopt;
    counts.insert(counts.end(), times, *count);
    if (comma == text.size()) return counts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace spec

Result<std::optional<SlurmAllocation>> read_slurm_allocation(const Environment& environment) {
  SlurmAllocation allocation;
  allocation.job = variable(environment, "SLURM_JOB_ID");
  const std::string list = variable(environment, "SLURM_JOB_NODELIST");
  if (allocation.job.empty() || list.empty()) return std::nullopt;
  const auto names = spec::expand_hostlist(list, "SLURM_JOB_NODELIST");
  if (!names) return tl::unexpected(names.error());
  const auto cpus = counts_of(environment, "SLURM_JOB_CPUS_PER_NODE", names->size());
  if (!cpus) return tl::unexpected(cpus.error());
  Result<std::vector<int>> tasks = std::vector<int>();
  if (variable(environment, "SLURM_STEP_ID").empty())
    tasks = counts_of(environment, "SLURM_TASKS_PER_NODE", names->size());
  if (!tasks) return tl::unexpected(tasks.error());
  for (std::size_t i = 0; i < names->size(); ++i) {
    allocation.nodes.push_back(
        {(*names)[i].name, tasks->empty() ? 0 : (*tasks)[i], cpus->empty() ? 0 : (*cpus)[i]});
  }
  spec::read_slurm_gpus(environment, allocation);
  // Only now: one task each counts for --gpus-per-task.
  if (std::all_of(tasks->begin(), tasks->end(), [](int n) { return n <= 1; }))
    for (SlurmNode& node : allocation.nodes) node.tasks = 0;
  for (SlurmNode& node : allocation.nodes) node.memory_mib = memory_of(environment, node);
  if (!variable(environment, "SLURM_JOB_START_TIME").empty())
    allocation.end = read_slurm_time(variable(environment, "SLURM_JOB_END_TIME"));
  return allocation;
}

std::string memory_text(const SlurmAllocation& allocation) {
  const auto [least, most] = std::minmax_element(
      allocation.nodes.begin(), allocation.nodes.end(),
      [](const SlurmNode& a, const SlurmNode& b) { return a.memory_mib < b.memory_mib; });
  if (least == allocation.nodes.end() || least->memory_mib == 0) return "";
  std::string text = gib_text(least->memory_mib);
  if (most->memory_mib != least->memory_mib) text += " to " + gib_text(most->memory_mib);
  return text + " of memory" + (allocation.nodes.size() > 1 ? " each" : "");
}

Status check_one_component(const Environment& environment) {
  // SLURM_PACK_SIZE: before Slurm 20.02.
  for (const char* name : {"SLURM_HET_SIZE", "SLURM_PACK_SIZE"}) {
    const auto components = number_of<int>(variable(environment, name));
    if (!components || *components < 2) continue;
    std::string nodes;
    for (int i = 0; i < std::min(*components, 8); ++i) {
      const char* group =
          name == std::string_view("SLURM_HET_SIZE") ? "_HET_GROUP_" : "_PACK_GROUP_";
      const std::string list =
          variable(environment, std::string("SLURM_JOB_NODELIST") + group + std::to_string(i));
      if (!list.empty()) nodes += (nodes.empty() ? " (" : "; ") + list;
    }
    if (!nodes.empty()) nodes += ')';
    return fail(exit_code::kJobFile,
                "Slurm job " + variable(environment, "SLURM_JOB_ID") +
                    " is heterogeneous: " + std::to_string(*components) + " components" + nodes +
                    ", and dlaunch does not know which of them the job is meant for" +
                    "\n         try: one component, which may have several kinds of nodes " +
                    "(--nodes, --constraint), or name hosts that ssh reaches: --hosts NODES");
  }
  return {};
}

std::vector<HostSpec> hosts_of(const SlurmAllocation& allocation) {
  std::vector<HostSpec> hosts;
  for (const SlurmNode& node : allocation.nodes) {
    hosts.emplace_back();
    hosts.back().name = node.name;
    hosts.back().slots = node.tasks;
  }
  return hosts;
}

Status check_single_task(const Environment& environment) {
  if (variable(environment, "SLURM_STEP_ID").empty()) return {};
  const auto tasks = number_of<int>(variable(environment, "SLURM_STEP_NUM_TASKS"));
  const auto rank = number_of<int>(variable(environment, "SLURM_PROCID"));
  if (!tasks || *tasks < 2 || !rank) return {};
  return fail(exit_code::kUsage,
              "srun has started this dlaunch " + std::to_string(*tasks) + " times (this is task " +
                  std::to_string(*rank) + "), and each would run the whole job\n         try: " +
                  "dlaunch run in the batch script or the shell of salloc, without srun");
}

}  // namespace dlaunch
