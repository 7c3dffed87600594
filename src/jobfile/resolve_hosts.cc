#include "jobfile/resolve_hosts.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "jobfile/diagnostics.h"
#include "jobfile/hostfile.h"
#include "jobfile/hostlist.h"
#include "jobfile/scheduler_hosts.h"
#include "jobfile/slurm_allocation.h"
#include "jobfile/slurm_fit.h"
#include "text/strings.h"

namespace dlaunch {

namespace jobfile {

tl::expected<std::vector<HostSpec>, std::string> expand_host(const HostSpec& item) {
  const auto entries = parse_hostlist(item.name);
  if (!entries) return tl::unexpected(entries.error().message);
  if (entries->empty()) return tl::unexpected(std::string("no host is named"));
  if (!item.address.empty() && entries->size() > 1) {
    return tl::unexpected("one address cannot belong to " + std::to_string(entries->size()) +
                          " hosts");
  }
  std::vector<HostSpec> hosts;
  for (const HostEntry& entry : *entries) {
    if (entry.slots > 0 && item.slots > 0)
      return tl::unexpected(std::string("the slots are given twice: in the name and by slots"));
    if (!entry.user.empty() && !item.user.empty())
      return tl::unexpected(std::string("the user is given twice: in the name and by user"));
    HostSpec host = item;
    host.name = entry.name;
    if (entry.slots > 0) host.slots = entry.slots;
    if (!entry.user.empty()) host.user = entry.user;
    hosts.push_back(std::move(host));
  }
  return hosts;
}

}  // namespace jobfile

namespace {

using jobfile::in_quotes;

tl::unexpected<Error> wrong(std::string message) {
  return fail(exit_code::kJobFile, std::move(message));
}

Result<ResolvedHosts> inline_hosts(const JobSpec& job) {
  ResolvedHosts resolved;
  resolved.origin = "hosts";
  std::set<std::string> names;
  for (const HostSpec& item : job.hosts.hosts) {
    auto hosts = jobfile::expand_host(item);
    if (!hosts) return wrong("hosts: " + in_quotes(item.name) + ": " + hosts.error());
    for (HostSpec& host : *hosts) {
      if (!names.insert(host.name).second)
        return wrong("hosts: " + in_quotes(host.name) + " is named twice");
      resolved.hosts.push_back(std::move(host));
    }
  }
  if (resolved.hosts.size() > jobfile::kMostHosts)
    return wrong("hosts: more than " + std::to_string(jobfile::kMostHosts) + " hosts");
  return resolved;
}

bool may_use_srun(const Connect& connect) {
  using Via = Connect::Via;
  return connect.via == Via::slurm || (connect.via == Via::automatic && connect.command.empty());
}

std::string with_memory(const SlurmAllocation& allocation) {
  const std::string text = memory_text(allocation);
  return text.empty() ? "" : ", " + text;
}

Result<ResolvedHosts> slurm_hosts(const JobSpec& job, const HostInput& input,
                                  const SlurmAllocation& allocation) {
  if (const Status single = check_single_task(input.environment); !single)
    return tl::unexpected(single.error());
  if (const Status one = check_one_component(input.environment); !one)
    return tl::unexpected(one.error());
  // How many ranks a subset of the nodes gets is unknown.
  const bool whole = input.include.empty() && input.exclude.empty();
  if (const Status fits = whole ? check_allocation(job, allocation) : Status(); !fits)
    return tl::unexpected(fits.error());
  ResolvedHosts resolved{hosts_of(allocation), "SLURM_JOB_NODELIST", {}};
  resolved.in_slurm = may_use_srun(job.connect);
  std::vector<std::string> names;
  for (const HostSpec& host : resolved.hosts) names.push_back(host.name);
  resolved.notes.push_back("the nodes are those of Slurm job " + allocation.job + ": " +
                           jobfile::compress_hostlist(names) + with_memory(allocation) +
                           (resolved.in_slurm ? ", reached by srun" : ""));
  return resolved;
}

Result<ResolvedHosts> scheduler_hosts(const JobSpec& job, const HostInput& input) {
  const auto variable = jobfile::find_scheduler_hosts(input.environment);
  if (!variable) return tl::unexpected(variable.error());
  if (variable->name == "SLURM_JOB_NODELIST") {
    const auto allocation = read_slurm_allocation(input.environment);
    if (!allocation) return tl::unexpected(allocation.error());
    if (*allocation) return slurm_hosts(job, input, **allocation);
  }
  std::string text = variable->value;
  if (variable->is_file) {
    auto content = input.read_file(variable->value);
    if (!content) return wrong(std::string(variable->name) + ": " + content.error().message);
    text = std::move(*content);
  }
  auto hosts = jobfile::read_scheduler_hosts(*variable, text);
  if (!hosts) return tl::unexpected(hosts.error());
  return ResolvedHosts{std::move(*hosts), std::string(variable->name), {}};
}

Result<ResolvedHosts> hosts_of_file(const JobSpec& job, const HostInput& input) {
  const std::string& path = job.hosts.hostfile;
  const auto text = input.read_file(path);
  if (!text) {
    const auto typed = job.typed.find("hostfile");
    return typed == job.typed.end() ? wrong(text.error().message)
                                    : wrong(typed->second + ": error: " + text.error().message);
  }
  auto file = jobfile::read_hostfile(*text, path);
  if (!file) return tl::unexpected(file.error());
  return ResolvedHosts{std::move(file->hosts), "hostfile " + path, std::move(file->notes)};
}

Result<ResolvedHosts> listed_hosts(const JobSpec& job, const HostInput& input) {
  if (!job.hosts.hostfile.empty()) return hosts_of_file(job, input);
  if (job.hosts.from_scheduler) return scheduler_hosts(job, input);
  if (!job.hosts.hosts.empty() || !may_use_srun(job.connect)) return inline_hosts(job);
  const auto allocation = read_slurm_allocation(input.environment);
  if (!allocation) return tl::unexpected(allocation.error());
  return *allocation ? slurm_hosts(job, input, **allocation) : inline_hosts(job);
}

/// Outside of an allocation, srun would request a new one and wait for it in the queue.
Status check_srun(const JobSpec& job, const HostInput& input) {
  if (job.connect.via != Connect::Via::slurm) return {};
  const auto allocation = read_slurm_allocation(input.environment);
  if (!allocation) return tl::unexpected(allocation.error());
  if (*allocation) return {};
  return wrong(
      "connect.via: slurm works only inside a Slurm allocation, and SLURM_JOB_ID is not set\n"
      "         try: the same command in salloc or in a script for sbatch");
}

/// The names in "NODE@NODE", each of which must be in the list.
Result<std::set<std::string>> chosen(const std::string& option, const std::string& text,
                                     const ResolvedHosts& from) {
  std::set<std::string> names;
  std::string_view rest = text;
  while (true) {
    const auto at = rest.find('@');
    const std::string item(rest.substr(0, at));
    if (item.find(':') != std::string::npos) {
      return wrong(option + " " + text + ": choosing GPUs of a host (\":0,2\") is not supported; " +
                   "name whole hosts");
    }
    const auto entries = jobfile::expand_hostlist(item, option);
    if (!entries) return tl::unexpected(entries.error());
    if (entries->empty()) return wrong(option + " " + text + ": the name of a host is missing");
    for (const jobfile::HostEntry& entry : *entries) {
      const bool known = std::any_of(from.hosts.begin(), from.hosts.end(),
                                     [&](const HostSpec& host) { return host.name == entry.name; });
      if (!known)
        return wrong(option + ": no host " + in_quotes(entry.name) + " in " + from.origin);
      names.insert(entry.name);
    }
    if (at == std::string_view::npos) return names;
    rest.remove_prefix(at + 1);
  }
}

Status filter(const HostInput& input, ResolvedHosts& resolved) {
  if (input.include.empty() && input.exclude.empty()) return {};
  if (!input.include.empty() && !input.exclude.empty())
    return wrong("--include and --exclude cannot be given together");
  if (resolved.hosts.empty())
    return wrong("--include and --exclude choose from hosts, and none are given");
  const bool keep = !input.include.empty();
  const auto names =
      chosen(keep ? "--include" : "--exclude", keep ? input.include : input.exclude, resolved);
  if (!names) return tl::unexpected(names.error());
  std::erase_if(resolved.hosts,
                [&](const HostSpec& host) { return names->contains(host.name) != keep; });
  if (resolved.hosts.empty()) return wrong("--exclude leaves no host of " + resolved.origin);
  return {};
}

/// Checks that there are enough hosts, and takes no more than `nodes` and `spares` need.
Status take_nodes(const JobSpec& job, ResolvedHosts& resolved) {
  const std::size_t given = resolved.hosts.size();
  if (given < hosts_needed(job)) return wrong(too_few_hosts(job, given, resolved.origin));
  if (!job.nodes) return {};
  const auto most = static_cast<std::size_t>(std::max(job.nodes->max, 1)) +
                    static_cast<std::size_t>(std::max(job.spares, 0));
  if (most < given) resolved.hosts.resize(most);
  return {};
}

/// If all hosts have slots, takes the hosts that get ranks, which are then known before connecting.
Status take_slots(const JobSpec& job, ResolvedHosts& resolved) {
  const bool all_have_slots = std::all_of(resolved.hosts.begin(), resolved.hosts.end(),
                                          [](const HostSpec& host) { return host.slots > 0; });
  if (!all_have_slots || !job.processes || job.launch == Launch::per_node) return {};
  const auto wanted = static_cast<std::size_t>(*job.processes);
  std::size_t slots = 0;
  std::size_t needed = 0;
  while (needed < resolved.hosts.size() && slots < wanted)
    slots += static_cast<std::size_t>(resolved.hosts[needed++].slots);
  if (slots < wanted) {
    return wrong(too_few_slots(as_typed(job, "processes", std::to_string(wanted)), needed, slots,
                               resolved.origin));
  }
  needed += static_cast<std::size_t>(std::max(job.spares, 0));
  const bool fills = job.placement == PlacementPolicy::fill;
  if (!job.nodes && fills && needed < resolved.hosts.size()) resolved.hosts.resize(needed);
  return {};
}

/// {user} and {port} of connect.command need a value for each host.
Status check_placeholders(const JobSpec& job, const ResolvedHosts& resolved) {
  const auto uses = [&](std::string_view name) {
    return std::any_of(
        job.connect.command.begin(), job.connect.command.end(),
        [&](const std::string& word) { return word.find(name) != std::string::npos; });
  };
  const bool user = uses("{user}") && job.connect.user.empty();
  const bool port = uses("{port}") && job.connect.port == 0;
  for (const HostSpec& host : resolved.hosts) {
    const bool lacks_user = user && host.user.empty();
    if (!lacks_user && !(port && host.port == 0)) continue;
    const std::string what = lacks_user ? "user" : "port";
    return wrong("connect.command uses {" + what + "}, but " + host.name + " has no " + what +
                 "; set connect." + what);
  }
  return {};
}

}  // namespace

Result<ResolvedHosts> resolve_hosts(const JobSpec& job, const HostInput& input) {
  if (const Status reached = check_srun(job, input); !reached)
    return tl::unexpected(reached.error());
  auto resolved = listed_hosts(job, input);
  if (!resolved) return resolved;
  Status status = filter(input, *resolved);
  if (status && !resolved->hosts.empty()) {
    status = take_nodes(job, *resolved);
    if (status) status = take_slots(job, *resolved);
    if (status) status = check_placeholders(job, *resolved);
  } else if (job.spares > 0) {
    resolved->notes.push_back(as_typed(job, "spares", std::to_string(job.spares)) +
                              " has no effect without hosts: the job runs on this machine alone");
  }
  if (!status) return tl::unexpected(status.error());
  return resolved;
}

}  // namespace dlaunch
