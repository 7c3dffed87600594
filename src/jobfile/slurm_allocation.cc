#include "jobfile/slurm_allocation.h"

#include <algorithm>
#include <string>

#include "jobfile/hostlist.h"
#include "jobfile/slurm_state.h"
#include "text/number.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

std::string variable(const Environment& environment, std::string_view name) {
  return find_variable(environment, name).value_or("");
}

/// One number per node; empty if the variable is not set.
Result<std::vector<int>> counts_of(const Environment& environment, std::string_view name,
                                   std::size_t nodes) {
  const std::string text = variable(environment, name);
  if (text.empty()) return std::vector<int>();
  auto counts = jobfile::read_repeated_counts(text, nodes);
  if (counts && counts->size() == nodes) return std::move(*counts);
  return fail(exit_code::kJobFile, std::string(name) + " should list " + counted(nodes, "number") +
                                       " in the form \"2(x3),1\", but is \"" + text + '"');
}

/// sbatch(1): SLURM_MEM_PER_NODE, _CPU and _GPU are MiB, as requested or by default; 0 means all
/// memory of the node.
std::int64_t memory_of(const Environment& environment, const SlurmNode& node) {
  const auto mib = [&](std::string_view name) {
    return count_from<std::int64_t>(variable(environment, name)).value_or(0);
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (const std::int64_t all = mib("SLURM_MEM_PER_NODE"); all > 0) return std::min(all, kMost);
  if (const std::int64_t each = mib("SLURM_MEM_PER_CPU"); each > 0)
    return std::min(each, kMost) * node.cpus;
  return std::min(mib("SLURM_MEM_PER_GPU"), kMost) * node.gpus;
}

std::string gib_text(std::int64_t mib) {
  constexpr std::int64_t kMibs = 1024;  // per GiB
  if (mib < kMibs) return std::to_string(mib) + " MiB";
  const std::int64_t tenths = mib * 10 / kMibs;
  const std::string whole = std::to_string(tenths / 10);
  return (tenths % 10 == 0 ? whole : whole + '.' + std::to_string(tenths % 10)) + " GiB";
}

}  // namespace

namespace jobfile {

std::optional<std::vector<int>> read_repeated_counts(std::string_view text, std::size_t most) {
  std::vector<int> counts;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    std::size_t times = 1;
    if (const std::size_t open = item.find("(x"); open != std::string_view::npos) {
      const std::string_view repeat = item.substr(open + 2);
      if (!repeat.ends_with(')')) return std::nullopt;
      times = count_from<std::size_t>(repeat.substr(0, repeat.size() - 1)).value_or(0);
      item = item.substr(0, open);
    }
    const auto count = count_from<int>(item);
    if (!count || times == 0 || times > most - std::min(most, counts.size()))
      return std::nullopt;
    counts.insert(counts.end(), times, *count);
    if (comma == text.size()) return counts;
    text.remove_prefix(comma + 1);
  }
}

namespace {

constexpr int kMostGpus = 1'000'000;

std::optional<int> small_number(std::string_view text) {
  const auto number = count_from<int>(text);
  return number && *number <= kMostGpus ? number : std::nullopt;
}

/// Removes the text up to the next comma from `rest` and returns it.
std::string_view next_item(std::string_view& rest) {
  const std::size_t comma = std::min(rest.find(','), rest.size());
  const std::string_view item = rest.substr(0, comma);
  rest.remove_prefix(std::min(comma + 1, rest.size()));
  return item;
}

std::string without_parentheses(std::string_view text) {
  std::string kept;
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (depth == 0) kept += c;
    if (c == ')' && depth > 0) --depth;
  }
  return kept;
}

std::optional<int> positive(long sum) {
  return sum > 0 && sum <= kMostGpus ? std::optional(static_cast<int>(sum)) : std::nullopt;
}

/// The number of ids: "0,1,4-6" is five.
std::optional<int> count_ids(std::string_view text) {
  long sum = 0;
  while (!text.empty()) {
    const std::string_view item = next_item(text);
    const std::size_t dash = std::min(item.find('-'), item.size());
    const auto first = small_number(item.substr(0, dash));
    const auto last = dash == item.size() ? first : small_number(item.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    sum += *last - *first + 1;
  }
  return positive(sum);
}

void spread_total(int total, std::optional<int> own, SlurmAllocation& allocation) {
  allocation.gpus = total;
  std::vector<SlurmNode>& nodes = allocation.nodes;
  if (nodes.size() == 1) nodes.front().gpus = total;
  // dlaunch runs on the first node, as batch scripts do.
  if (nodes.size() != 2 || !own || *own >= total) return;
  nodes.front().gpus = nodes.front().step_gpus = *own;
  nodes.back().gpus = nodes.back().step_gpus = total - *own;
}

}  // namespace

std::optional<int> count_gpus(std::string_view text) {
  const std::string plain = without_parentheses(text);
  std::string_view rest = plain;
  long sum = 0;
  while (!rest.empty()) {
    const std::string_view item = next_item(rest);
    const std::size_t colon = item.rfind(':');
    const auto count =
        small_number(colon == std::string_view::npos ? item : item.substr(colon + 1));
    if (!count) return std::nullopt;
    sum += *count;
  }
  return positive(sum);
}

void read_slurm_gpus(const Environment& environment, SlurmAllocation& allocation) {
  const auto told = [&](std::string_view name) {
    return count_gpus(find_variable(environment, name).value_or(""));
  };
  std::vector<SlurmNode>& nodes = allocation.nodes;
  if (const auto each = told("SLURM_GPUS_PER_NODE")) {
    for (SlurmNode& node : nodes) node.gpus = *each;
    return;
  }
  if (const auto each = told("SLURM_GPUS_PER_TASK")) {
    for (SlurmNode& node : nodes) {
      node.gpus = positive(static_cast<long>(*each) * node.tasks).value_or(0);
      node.step_gpus = node.tasks > 1 ? node.gpus : 0;
    }
    return;
  }
  auto own = told("SLURM_GPUS_ON_NODE");
  if (!own) own = count_ids(find_variable(environment, "SLURM_JOB_GPUS").value_or(""));
  if (const auto total = told("SLURM_GPUS")) return spread_total(*total, own, allocation);
  for (SlurmNode& node : nodes) node.gpus = own.value_or(0);
}

}  // namespace jobfile

Result<std::optional<SlurmAllocation>> read_slurm_allocation(const Environment& environment) {
  SlurmAllocation allocation;
  allocation.job = variable(environment, "SLURM_JOB_ID");
  const std::string list = variable(environment, "SLURM_JOB_NODELIST");
  if (allocation.job.empty() || list.empty()) return std::nullopt;
  const auto names = jobfile::expand_hostlist(list, "SLURM_JOB_NODELIST");
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
  jobfile::read_slurm_gpus(environment, allocation);
  // After read_slurm_gpus(), because --gpus-per-task needs the counts even where all are 1.
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
  // Before Slurm 20.02 the variable was SLURM_PACK_SIZE.
  for (const char* name : {"SLURM_HET_SIZE", "SLURM_PACK_SIZE"}) {
    const auto components = count_from<int>(variable(environment, name));
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
  const auto tasks = count_from<int>(variable(environment, "SLURM_STEP_NUM_TASKS"));
  const auto rank = count_from<int>(variable(environment, "SLURM_PROCID"));
  if (!tasks || *tasks < 2 || !rank) return {};
  return fail(exit_code::kUsage,
              "srun started " + std::to_string(*tasks) + " copies of dlaunch (this is task " +
                  std::to_string(*rank) + "), and each would run the whole job\n         try: " +
                  "dlaunch run in the batch script or the shell of salloc, without srun");
}

}  // namespace dlaunch
