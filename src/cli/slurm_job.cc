#include "cli/slurm_job.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "cli/job_options.h"
#include "cli/print.h"
#include "launch/slurm/command_output.h"
#include "spec/slurm_state.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kQueueLimit{2};

/// The file that runs now, which the script starts on the first node.
std::string own_program() {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : "dlaunch";
}

/// `dlaunch run` with the same words.
std::vector<std::string> run_command_words(const JobOptions& job) {
  std::vector<std::string> words = {own_program(), "run"};
  const auto add = [&](const char* option, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(option);
    words.push_back(value);
  };
  if (!job.file.empty()) words.push_back(job.file);
  add("--processes", job.processes);
  add("--nproc-per-node", job.per_node);
  add("--nnodes", job.nodes);
  for (const std::string& set : job.sets) add("--set", set);
  for (const std::string& input : job.inputs) add("--input", input);
  for (const std::string& output : job.outputs) add("--output", output);
  add("--step", job.step);
  add("--module", job.module);
  add("--package-path", job.package);
  if (job.no_container) words.emplace_back("--no-container");
  if (!job.arguments.empty()) words.emplace_back("--");
  words.insert(words.end(), job.arguments.begin(), job.arguments.end());
  return words;
}

Status check_hosts(const JobOptions& job) {
  if (!job.hosts && !job.hostfile && !job.include && !job.exclude && !job.ssh) return {};
  return fail(exit_code::kUsage,
              "Slurm chooses the nodes of a job that is submitted: leave out --hosts, --hostfile, "
              "--include, --exclude and --ssh\n         try: --sbatch=--exclude=NODES");
}

}  // namespace

void add_slurm_options(CommandOptions command, SlurmOptions& options) {
  SlurmRequest& request = options.request;
  command.value("-p,--partition", request.partition, "Slurm's partition", "NAME");
  command.value("-t,--time", request.time, "Time limit: 30m, 2h, 7d, or as sbatch has it", "TIME");
  command.value("-A,--account", request.account, "Slurm's account", "NAME");
  command.number("--gpus-per-node", request.gpus_per_node, "GPUs on each node", "N");
  command.number("-c,--cpus-per-task", request.cpus_per_task, "CPUs for each rank", "N");
  command.values("--sbatch", request.options,
                 "Any other option of sbatch; may be repeated:\n--sbatch=--constraint=a100",
                 "OPTION");
}

Result<SlurmScript> make_slurm_script(const JobOptions& job, const SlurmOptions& options) {
  if (const Status hosts = check_hosts(job); !hosts) return tl::unexpected(hosts.error());
  const auto folder = current_folder();
  if (!folder) return tl::unexpected(folder.error());
  const auto loaded = load_job(job, *folder);
  if (!loaded) return tl::unexpected(loaded.error());
  for (const std::string& note : loaded->notes)
    std::fprintf(stderr, "dlaunch: note: %s\n", note.c_str());
  auto text = slurm_script(loaded->spec, options.request, run_command_words(job), *folder);
  if (!text) return tl::unexpected(text.error());
  return SlurmScript{loaded->spec.name, std::move(*text)};
}

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

bool is_slurm_here() {
  if (std::getenv("SLURM_CONF") != nullptr) return true;
  // slurm.conf(5): where it is built in, and where slurmd leaves that of a configless cluster.
  for (const char* path : {"/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf"}) {
    if (::access(path, R_OK) == 0) return true;
  }
  return false;
}

std::optional<std::vector<QueuedJob>> ask_queue() {
  const std::string user = std::to_string(::getuid());
  const auto answer = command_output(
      {"squeue", "--noheader", "--user", user, "--states=all", "--format", kQueueFormat}, "",
      kQueueLimit);
  if (!answer || answer->wait_status != 0) return std::nullopt;
  return read_queue(answer->out);
}

std::map<std::string, std::string> ask_account(const std::set<std::string>& jobs) {
  std::string list;
  for (const std::string& job : jobs) {
    const bool number = job.find_first_not_of("0123456789") == std::string::npos;
    if (number && !job.empty()) list += (list.empty() ? "" : ",") + job;
  }
  if (list.empty()) return {};
  const auto answer =
      command_output({"sacct", "--noheader", "--parsable2", "--allocations", "--duplicates",
                      "--format", kSlurmAccountFormat, "--jobs", list},
                     "", kQueueLimit);
  if (!answer || answer->wait_status != 0) return {};
  return read_slurm_account(answer->out);
}

}  // namespace dlaunch
