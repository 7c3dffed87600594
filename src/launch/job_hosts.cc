#include "launch/job_hosts.h"

#include <cstdlib>
#include <utility>

#include <unistd.h>

#include "jobfile/hostfile.h"
#include "jobfile/resolve_hosts.h"
#include "jobfile/slurm_allocation.h"
#include "launch/connect/connector.h"
#include "launch/slurm/slurm_inquiry.h"
#include "os/bounded_file.h"
#include "os/clock.h"
#include "os/program_output.h"
#include "text/duration_text.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kListLimit{30};

/// Fills `hosts` with the nodes that the job's connector lists.
Status list_hosts(JobSpec& job) {
  const Connector* connector = find_connector(job.connect.via);
  if (connector == nullptr || connector->listing == nullptr) return {};
  const NodeListing& listing = *connector->listing;
  const std::string key = "connect." + std::string(listing.key);
  const bool is_given = job.connect.settings.contains(std::string(listing.key));
  const HostList& hosts = job.hosts;
  const bool has_hosts = !hosts.hosts.empty() || !hosts.hostfile.empty() || hosts.from_scheduler;
  if (has_hosts && is_given)
    return fail(exit_code::kJobFile, "the hosts of the job and " + key +
                                         " both say which nodes to use; give only one of them");
  if (has_hosts) return {};
  if (!is_given)
    return fail(exit_code::kJobFile, "connect.via: " + job.connect.via + " needs hosts, or " + key);
  const auto output = run_program({.argv = listing.argv(job.connect), .limit = kListLimit});
  if (!output) return fail(exit_code::kNodeLost, output.error().message);
  if (!output->succeeded()) {
    const ConnectEnd end{output->wait_status.value_or(0), connector->program(job.connect),
                         output->errors, ""};
    return fail(exit_code::kNodeLost, connector->failure(end).text);
  }
  auto listed = listing.read(job.connect, output->out);
  if (!listed) return tl::unexpected(listed.error());
  job.hosts.hosts = std::move(*listed);
  return {};
}

/// Slurm before 23.02 does not set the job's end in the environment; then we ask, and set the
/// variable of later versions for this process, srun and the ranks.
std::optional<SlurmTime> slurm_end_of(const Environment& environment) {
  const auto allocation = read_slurm_allocation(environment);
  if (!allocation || !*allocation) return std::nullopt;
  if ((*allocation)->end) return (*allocation)->end;
  const auto end = ask_slurm_end(environment);
  if (end) {
    ::setenv("SLURM_JOB_END_TIME", std::to_string(end->count()).c_str(), 1);
  } else {
    ::unsetenv("SLURM_JOB_END_TIME");  // left over from another job
  }
  return end;
}

}  // namespace

Result<JobHosts> resolve_job_hosts(JobSpec& spec, const HostSelection& selection) {
  HostInput input;
  if (selection.use_allocation) input.environment = environment_from_block(environ);
  input.include = selection.include;
  input.exclude = selection.exclude;
  input.read_file = [](const std::string& path) {
    return read_bounded_file(path, "hostfile", jobfile::kMostHostfileBytes + 1);
  };
  if (const Status listed = list_hosts(spec); !listed) return tl::unexpected(listed.error());
  auto resolved = resolve_hosts(spec, input);
  if (!resolved) return tl::unexpected(resolved.error());
  JobHosts hosts{std::move(resolved->notes), slurm_end_of(input.environment)};
  if (hosts.slurm_end) {
    const auto left = WallTime(*hosts.slurm_end) - wall_now();
    if (left.count() > 0)
      hosts.notes.push_back("Slurm's time limit ends the job in " + duration_text(left));
  }
  spec.hosts = HostList{};
  spec.hosts.hosts = std::move(resolved->hosts);
  spec.hosts.in_slurm = resolved->in_slurm;
  return hosts;
}

}  // namespace dlaunch
