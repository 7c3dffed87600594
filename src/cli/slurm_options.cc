#include "cli/slurm_options.h"

#include <array>
#include <cstdio>

#include <unistd.h>

#include "cli/load_job.h"
#include "os/own_machine.h"

namespace dlaunch {

namespace {

/// The path of this program, which the script starts on the first node.
std::string own_program() {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : "dlaunch";
}

}  // namespace

void add_slurm_options(CommandOptions command, SlurmRequest& request) {
  command.value("-p,--partition", request.partition, "Slurm's partition", "NAME");
  command.value("-t,--time", request.time, "Time limit: 30m, 2h, 7d, or in sbatch's format",
                "TIME");
  command.value("-A,--account", request.account, "Slurm's account", "NAME");
  command.number("--gpus-per-node", request.gpus_per_node, "GPUs on each node", "N");
  command.number("-c,--cpus-per-task", request.cpus_per_task, "CPUs for each rank", "N");
  command.values("--sbatch", request.options,
                 "Any other option of sbatch; may be repeated:\n--sbatch=--constraint=a100",
                 "OPTION");
}

Result<SlurmScript> make_slurm_script(const JobOptions& job, SlurmRequest request) {
  if (job.hosts || job.hostfile || job.include || job.exclude || job.ssh)
    return fail(exit_code::kUsage,
                "Slurm chooses the nodes of a submitted job: leave out --hosts, --hostfile, "
                "--include, --exclude and --ssh\n         try: --sbatch=--exclude=NODES");
  const auto folder = current_folder();
  if (!folder) return tl::unexpected(folder.error());
  const auto loaded = load_job(job, *folder);
  if (!loaded) return tl::unexpected(loaded.error());
  for (const std::string& note : loaded->notes)
    std::fprintf(stderr, "dlaunch: note: %s\n", note.c_str());
  if (!job.gpus.empty() && job.gpus != "all" && !request.gpus_per_node)
    request.gpus_per_node = loaded->spec.processes_per_node.count;
  std::vector<std::string> words = {own_program(), "run"};
  for (std::string& word : words_of(job)) words.push_back(std::move(word));
  auto text = slurm_script(loaded->spec, request, words, *folder);
  if (!text) return tl::unexpected(text.error());
  return SlurmScript{loaded->spec.name, std::move(*text)};
}

}  // namespace dlaunch
