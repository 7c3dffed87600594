#include "jobfile/slurm_script.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "jobfile/host_name.h"
#include "jobfile/shell_quote.h"
#include "jobfile/slurm_allocation.h"
#include "jobfile/slurm_fit.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

/// Time after timeouts.stop for killing ranks, the last output and the summary. Slurm may send the
/// signal of --signal up to a minute early, but never late.
constexpr std::chrono::seconds kAfterStop{30};

using Options = std::vector<std::pair<std::string, std::string>>;  // name, value; may be empty

/// sbatch splits its lines at blanks and interprets quotes, '\' and '#'.
bool is_plain(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return c > ' ' && c < '\x7f' && std::string_view("\"'\\#").find(c) == std::string_view::npos;
  });
}

Status check_word(const std::string& option, const std::string& word) {
  if (is_plain(word)) return {};
  return fail(exit_code::kUsage, option + ": \"" + word +
                                     "\" cannot be written into a script for sbatch; it must not "
                                     "contain blanks, quotes, '#' or '\\'");
}

std::string two(long n) {
  return (n < 10 ? "0" : "") + std::to_string(n);
}

/// "2h" becomes "2:00:00"; formats that Slurm knows stay unchanged.
Result<std::string> time_limit(const std::string& text) {
  const bool of_slurm =
      !text.empty() && text.find_first_not_of("0123456789:-") == std::string::npos;
  if (of_slurm || text == "UNLIMITED" || text == "INFINITE") return text;
  long number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  constexpr std::pair<char, long> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
  constexpr long kMost = 100'000;
  for (const auto& [unit, seconds] : kUnits) {
    const bool good = error == std::errc() && stop + 1 == end && *stop == unit;
    if (!good || number < 1 || number > kMost) continue;
    const long all = number * seconds;
    return std::to_string(all / 3600) + ':' + two(all / 60 % 60) + ':' + two(all % 60);
  }
  return fail(exit_code::kUsage,
              "--time: \"" + text +
                  "\" is not a time limit; write 30m, 2h, 7d, or in sbatch's form "
                  "2:00:00, 1-12");
}

std::string number(long n) {
  return std::to_string(n);
}

bool is_gpu_option(std::string_view option) {
  return option.starts_with("-G") || option.starts_with("--gpus") ||
         option.starts_with("--gres=gpu");
}

/// GPUs per node, if the options give them; at least 1.
std::optional<long> gpus_per_node(const SlurmRequest& request) {
  if (request.gpus_per_node.value_or(0) > 0) return *request.gpus_per_node;
  for (const std::string_view option : request.options) {
    for (const std::string_view name : {"--gpus-per-node=", "--gres=gpu:"}) {
      // A list for --gres may also contain other resources.
      if (!option.starts_with(name) || option.find(',') != std::string_view::npos) continue;
      if (const auto count = jobfile::count_gpus(option.substr(name.size()))) return *count;
    }
  }
  return std::nullopt;
}

bool asks_for_gpus(const SlurmRequest& request) {
  return request.gpus_per_node ||
         std::any_of(request.options.begin(), request.options.end(), is_gpu_option);
}

/// Ranks per node if known beforehand; otherwise 0.
long ranks_per_node(const JobSpec& job, const SlurmRequest& request) {
  if (job.launch != Launch::per_process) return 1;
  using Kind = ProcessesPerNode::Kind;
  if (job.processes_per_node.kind == Kind::count) return job.processes_per_node.count;
  if (job.processes || !job.roles.empty()) return 0;
  return gpus_per_node(request).value_or(0);
}

long total_ranks(const JobSpec& job) {
  long total = job.processes.value_or(0);
  for (const RoleSpec& role : job.roles) total += role.count;
  return total;
}

long quotient_up(long all, long each) {
  return (all + each - 1) / each;
}

/// GPUs per node for a job that needs a GPU per process, if the request names no GPUs; 0: not
/// needed, or the number of nodes is unknown.
long gpus_of_job(const JobSpec& job, const SlurmRequest& request) {
  if (job.binding.gpus != Binding::Gpus::one_per_process || asks_for_gpus(request)) return 0;
  if (job.processes_per_node.kind == ProcessesPerNode::Kind::count)
    return job.processes_per_node.count;
  const long all = job.processes ? *job.processes : computing_tasks(job);
  return job.nodes ? quotient_up(all, std::max(job.nodes->min, 1)) : 0;
}

/// For a total of processes that use a GPU each: no node may get more tasks than it has GPUs.
std::optional<long> most_tasks_per_node(const JobSpec& job, const SlurmRequest& request) {
  if (!job.processes || !has_gpu_for_each_rank(job)) return std::nullopt;
  const long own = gpus_of_job(job, request);
  return own > 0 ? own : gpus_per_node(request);
}

void add_gpus(const JobSpec& job, const SlurmRequest& request, Options& options) {
  if (request.gpus_per_node) {
    options.emplace_back("gpus-per-node", number(*request.gpus_per_node));
  } else if (const long own = gpus_of_job(job, request); own > 0) {
    options.emplace_back("gpus-per-node", number(own));
  } else if (job.binding.gpus == Binding::Gpus::one_per_process && job.processes &&
             !asks_for_gpus(request)) {
    options.emplace_back("gpus-per-task", "1");
  }
}

void add_size(const JobSpec& job, const SlurmRequest& request, Options& options) {
  const long total = total_ranks(job);
  const long per_node = ranks_per_node(job, request);
  const auto most = most_tasks_per_node(job, request);
  if (job.nodes || total == 0) {
    options.emplace_back("nodes", number((job.nodes ? job.nodes->min : 1) + job.spares));
  } else if (most) {
    options.emplace_back("nodes", number(quotient_up(total, *most) + job.spares));
  }
  if (per_node == 0 && total > 0) options.emplace_back("ntasks", number(total));
  // With --ntasks this is a maximum (sbatch(1)).
  if (per_node > 0 || most)
    options.emplace_back("ntasks-per-node", number(most.value_or(per_node)));
  if (request.cpus_per_task) options.emplace_back("cpus-per-task", number(*request.cpus_per_task));
  add_gpus(job, request, options);
}

Result<Options> options_of(const JobSpec& job, const SlurmRequest& request) {
  Options options = {{"job-name", jobfile::name_as_word(job.name)}, {"comment", kSlurmComment}};
  add_size(job, request, options);
  if (!request.partition.empty()) options.emplace_back("partition", request.partition);
  if (!request.account.empty()) options.emplace_back("account", request.account);
  if (!request.time.empty()) {
    auto time = time_limit(request.time);
    if (!time) return tl::unexpected(time.error());
    options.emplace_back("time", std::move(*time));
  }
  const auto stop = std::chrono::ceil<std::chrono::seconds>(job.timeouts.stop) + kAfterStop;
  constexpr long kMostSeconds = 65'535;  // sbatch(1)
  options.emplace_back("signal", "B:TERM@" + number(std::min<long>(stop.count(), kMostSeconds)));
  options.emplace_back("open-mode", "append");  // a requeued job continues the same file
  for (const auto& [name, value] : options) {
    if (const Status good = check_word("--" + name, value); !good)
      return tl::unexpected(good.error());
  }
  return options;
}

/// Refuses a job that would not fit the allocation that the script requests (check_allocation()).
Status check_gpus(const JobSpec& job, const SlurmRequest& request) {
  if (job.processes_per_node.kind == ProcessesPerNode::Kind::gpu && !asks_for_gpus(request))
    return fail(
        exit_code::kUsage,
        "\"processes_per_node: gpu\" needs --gpus-per-node N, so that Slurm allocates GPUs");
  const bool each_of_a_role =
      job.binding.gpus == Binding::Gpus::one_per_process && !job.nodes && computing_tasks(job) > 0;
  if (each_of_a_role && !asks_for_gpus(request))
    return fail(exit_code::kUsage,
                "\"binding.gpus: one-per-process\" with roles needs nodes, or --gpus-per-node N, "
                "so that Slurm allocates GPUs");
  const auto gpus = gpus_per_node(request);
  if (!gpus || !has_gpu_for_each_rank(job)) return {};
  const auto too_few = [&](const std::string& key, long wanted, long has, const std::string& on) {
    return fail(exit_code::kUsage, '"' + key + ": " + std::to_string(wanted) +
                                       "\" but Slurm would be asked for " + counted(has, "GPU") +
                                       on + "\n         try: more GPUs, or " + key + ": " +
                                       std::to_string(has) + ", or binding.gpus: none");
  };
  const bool counts = job.processes_per_node.kind == ProcessesPerNode::Kind::count;
  if (counts && job.processes_per_node.count > *gpus)
    return too_few("processes_per_node", job.processes_per_node.count, *gpus, " on each node");
  if (job.processes && job.nodes && *job.processes > job.nodes->min * *gpus)
    return too_few("processes", *job.processes, job.nodes->min * *gpus,
                   " on " + counted(job.nodes->min, "node"));
  return {};
}

Status check_job(const JobSpec& job, const SlurmRequest& request) {
  if (!job.hosts.hosts.empty() || !job.hosts.hostfile.empty()) {
    return fail(exit_code::kJobFile,
                "the job names its hosts, but Slurm chooses the nodes of a job that is submitted; "
                "leave hosts and hostfile out");
  }
  if (const Status gpus = check_gpus(job, request); !gpus) return gpus;
  for (const std::string& option : request.options) {
    if (!option.starts_with('-'))
      return fail(exit_code::kUsage, "--sbatch " + option +
                                         ": an option of sbatch is expected, as "
                                         "in --sbatch=--constraint=a100");
    if (const Status good = check_word("--sbatch", option); !good) return good;
  }
  return {};
}

}  // namespace

Result<std::string> slurm_script(const JobSpec& job, const SlurmRequest& request,
                                 const std::vector<std::string>& command,
                                 const std::string& folder) {
  if (const Status good = check_job(job, request); !good) return tl::unexpected(good.error());
  const auto options = options_of(job, request);
  if (!options) return tl::unexpected(options.error());
  std::string script = "#!/bin/sh\n";
  for (const auto& [name, value] : *options) script += "#SBATCH --" + name + '=' + value + '\n';
  for (const std::string& option : request.options) script += "#SBATCH " + option + '\n';
  script +=
      "\n# exec turns the script into dlaunch, which then receives the script's signals: the "
      "SIGTERM\n"
      "# of --signal comes early enough for timeouts.stop to pass before the time limit.\n";
  script += "cd " + jobfile::shell_quote(folder) + " || exit 1\n";
  script += "exec";
  for (const std::string& word : command) script += ' ' + jobfile::shell_quote(word);
  return script + '\n';
}

}  // namespace dlaunch
