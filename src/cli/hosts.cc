#include "cli/hosts.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "cli/job_file.h"
#include "launch/slurm/slurm_inquiry.h"
#include "os/clock.h"
#include "spec/hostfile.h"
#include "spec/resolve_hosts.h"
#include "spec/slurm_allocation.h"
#include "text/duration_text.h"

extern char** environ;

namespace dlaunch {

namespace {

/// As the user would have to type it here.
std::string path_of_hostfile(const JobOptions& options, const LoadedJob& job) {
  const std::filesystem::path given = job.spec.hosts.hostfile;
  const bool from_command_line = options.hostfile || is_set(options, "hostfile");
  if (given.empty() || given.is_absolute() || from_command_line) return given;
  return std::filesystem::path(job.file).parent_path() / given;
}

/// When the job's time ends. Before Slurm 23.02 nobody tells it unasked; then it is left in our
/// environment as the later versions have it, for this process, for srun and for the ranks.
std::optional<SlurmTime> end_of_job(const Environment& environment) {
  const auto allocation = read_slurm_allocation(environment);
  if (!allocation || !*allocation) return std::nullopt;
  if ((*allocation)->end) return (*allocation)->end;
  const auto end = ask_slurm_end(environment);
  if (end) {
    ::setenv("SLURM_JOB_END_TIME", std::to_string(end->count()).c_str(), 1);
  } else {
    ::unsetenv("SLURM_JOB_END_TIME");  // of another job
  }
  return end;
}

/// How long the job may still take, where that is known.
void add_time_limit(std::optional<SlurmTime> end, std::vector<std::string>& notes) {
  if (!end) return;
  const auto left = WallTime(*end) - wall_now();
  if (left.count() > 0)
    notes.push_back("the time limit of Slurm ends the job in " + duration_text(left));
}

}  // namespace

Status resolve_job_hosts(const JobOptions& options, bool quiet, LoadedJob& job,
                         Allocation allocation) {
  job.spec.hosts.hostfile = path_of_hostfile(options, job);
  HostInput input;
  if (allocation == Allocation::used) input.environment = environment_from_block(environ);
  input.include = options.include.value_or("");
  input.exclude = options.exclude.value_or("");
  input.read_file = [](const std::string& path) {
    return read_bounded_file(path, "hostfile", spec::kMostHostfileBytes + 1);
  };
  auto resolved = resolve_hosts(job.spec, input);
  if (!resolved) return tl::unexpected(resolved.error());
  const auto end = end_of_job(input.environment);
  add_time_limit(end, resolved->notes);
  job.notes.insert(job.notes.end(), resolved->notes.begin(), resolved->notes.end());
  for (const std::string& note : job.notes) {
    if (!quiet) std::fprintf(stderr, "dlaunch: note: %s\n", note.c_str());
  }
  job.spec.hosts = HostList{};
  job.spec.hosts.hosts = std::move(resolved->hosts);
  job.spec.hosts.in_slurm = resolved->in_slurm;
  job.slurm_end = end;
  return {};
}

}  // namespace dlaunch
