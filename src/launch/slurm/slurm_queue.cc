#include "launch/slurm/slurm_queue.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include <unistd.h>

#include "jobfile/slurm_script.h"
#include "jobfile/slurm_state.h"
#include "os/program_output.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kLimit{2};

/// Without a configuration Slurm's commands look for one in the DNS, which may take seconds.
bool is_slurm_here() {
  if (std::getenv("SLURM_CONF") != nullptr) return true;
  // slurm.conf(5): the built-in path, and where slurmd stores it on a configless cluster.
  for (const char* path : {"/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf"}) {
    if (::access(path, R_OK) == 0) return true;
  }
  return false;
}

/// The user's own jobs; nullopt: this machine has no Slurm, or Slurm does not answer.
std::optional<std::vector<QueuedJob>> ask_queue() {
  const std::string user = std::to_string(::getuid());
  const auto answer = run_program(
      {.argv = {"squeue", "--noheader", "--user", user, "--states=all", "--format", kQueueFormat},
       .limit = kLimit});
  if (!answer || !answer->succeeded()) return std::nullopt;
  return read_queue(answer->out);
}

/// The states of these jobs; empty if accounting is not configured or does not answer.
std::map<std::string, std::string> ask_account(const std::set<std::string>& jobs) {
  std::string list;
  for (const std::string& job : jobs) {
    const bool number = job.find_first_not_of("0123456789") == std::string::npos;
    if (number && !job.empty()) list += (list.empty() ? "" : ",") + job;
  }
  if (list.empty()) return {};
  const auto answer =
      run_program({.argv = {"sacct", "--noheader", "--parsable2", "--allocations", "--duplicates",
                            "--format", kSlurmAccountFormat, "--jobs", list},
                   .limit = kLimit});
  if (!answer || !answer->succeeded()) return {};
  return read_slurm_account(answer->out);
}

bool is_of_slurm(const RunView& run) {
  return run.witness.record && !run.witness.record->slurm_job.empty() && !run.witness.ending;
}

/// Jobs that ended too long ago are no longer in the queue.
void add_accounted_states(const std::vector<QueuedJob>& queue, std::vector<RunView>& runs) {
  std::set<std::string> missing;
  for (const RunView& run : runs) {
    if (is_of_slurm(run)) missing.insert(run.witness.record->slurm_job);
  }
  for (const QueuedJob& job : queue) missing.erase(job.id);
  if (missing.empty()) return;
  const auto states = ask_account(missing);
  for (RunView& run : runs) {
    if (!is_of_slurm(run)) continue;
    const auto state = states.find(run.witness.record->slurm_job);
    if (state != states.end()) run.slurm_state = state->second;
  }
}

}  // namespace

std::vector<QueuedJob> read_queue(const std::string& text) {
  std::vector<QueuedJob> jobs;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    std::array<std::string, 5> fields;
    bool whole = true;
    for (std::string& field : fields) {
      const std::size_t bar = line.find('|');
      whole = whole && bar != std::string::npos;
      if (!whole) break;
      field = line.substr(0, bar);
      line.erase(0, bar + 1);
    }
    if (whole) jobs.push_back({fields[0], fields[1], fields[2], fields[3], fields[4], line});
  }
  return jobs;
}

std::vector<QueuedJob> ask_slurm(const RunFolders& places, std::vector<RunView>& runs) {
  if (!std::any_of(runs.begin(), runs.end(), is_of_slurm) && !is_slurm_here()) return {};
  const auto queue = ask_queue();
  if (!queue) return {};
  add_accounted_states(*queue, runs);
  std::vector<QueuedJob> waiting;
  for (const QueuedJob& job : *queue) {
    for (RunView& run : runs) {
      if (is_of_slurm(run) && run.witness.record->slurm_job == job.id) run.slurm_state = job.state;
    }
    if (job.state == "PENDING" && job.comment == kSlurmComment && job.folder == places.folder)
      waiting.push_back(job);
  }
  return waiting;
}

}  // namespace dlaunch
