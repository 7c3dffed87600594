#include "spec/slurm_script.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "spec/shell_quote.h"

namespace dlaunch {

namespace {

/// Slurm may send the signal of --signal up to a minute early, never late; what is left after
/// timeouts.stop is for killing, the last output and the summary.
constexpr std::chrono::seconds kAfterStop{30};

using Options = std::vector<std::pair<std::string, std::string>>;  // name, value; may be empty

/// sbatch splits its lines at blanks, and takes quotes, '\' and '#' for its own.
bool is_plain(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return c > ' ' && c < '\x7f' && std::string_view("\"'\\#").find(c) == std::string_view::npos;
  });
}

Status check_word(const std::string& option, const std::string& word) {
  if (is_plain(word)) return {};
  return fail(exit_code::kUsage,
              option + ": \"" + word +
                  "\" cannot be written into a script for sbatch; it may have no "
                  "blanks, quotes, '#' and '\\'");
}

std::string job_name(const JobSpec& job) {
  std::string name = job.name.empty() ? "dlaunch" : job.name;
  for (char& c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '-') c = '-';
  }
  return name;
}

std::string two(long n) {
  return (n < 10 ? "0" : "") + std::to_string(n);
}

/// "2h" is "2:00:00"; what Slurm knows itself stays as it is.
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
  return fail(exit_code::kUsage, "--time: \"" + text +
                                     "\" is no time limit; write 30m, 2h, 7d, or as sbatch has it: "
                                     "2:00:00, 1-12");
}

std::string number(long n) {
  return std::to_string(n);
}

/// How many ranks on each node, where that is known beforehand; 0: it is not.
long ranks_per_node(const JobSpec& job, const SlurmRequest& request) {
  if (job.launch != Launch::per_process) return 1;
  using Kind = ProcessesPerNode::Kind;
  if (job.processes_per_node.kind == Kind::count) return job.processes_per_node.count;
  if (job.processes || !job.roles.empty()) return 0;
  return request.gpus_per_node.value_or(0);
}

void add_size(const JobSpec& job, const SlurmRequest& request, Options& options) {
  long total = job.processes.value_or(0);
  for (const RoleSpec& role : job.roles) total += role.count;
  const long per_node = ranks_per_node(job, request);
  if (job.nodes || total == 0)
    options.emplace_back("nodes", number(job.nodes ? job.nodes->min + job.spares : 1));
  if (per_node > 0) {
    options.emplace_back("ntasks-per-node", number(per_node));
  } else if (total > 0) {
    options.emplace_back("ntasks", number(total));
  }
  if (request.cpus_per_task) options.emplace_back("cpus-per-task", number(*request.cpus_per_task));
  if (request.gpus_per_node) options.emplace_back("gpus-per-node", number(*request.gpus_per_node));
}

Result<Options> options_of(const JobSpec& job, const SlurmRequest& request) {
  Options options = {{"job-name", job_name(job)}, {"comment", kSlurmComment}};
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
  options.emplace_back("open-mode", "append");  // a requeued job goes on in the same file
  for (const auto& [name, value] : options) {
    if (const Status good = check_word("--" + name, value); !good)
      return tl::unexpected(good.error());
  }
  return options;
}

Status check_job(const JobSpec& job, const SlurmRequest& request) {
  if (!job.hosts.hosts.empty() || !job.hosts.hostfile.empty()) {
    return fail(exit_code::kJobFile,
                "the job names its hosts, but Slurm chooses the nodes of a job that is submitted; "
                "leave hosts and hostfile out");
  }
  if (job.processes_per_node.kind == ProcessesPerNode::Kind::gpu && !request.gpus_per_node)
    return fail(exit_code::kUsage,
                "\"processes_per_node: gpu\" needs --gpus-per-node N, so that Slurm gives some");
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
      "\n# The script becomes dlaunch, which so gets what Slurm sends to the script: the SIGTERM "
      "of\n"
      "# --signal, early enough for timeouts.stop to pass before the time limit.\n";
  script += "cd " + spec::shell_quote(folder) + " || exit 1\n";
  script += "exec";
  for (const std::string& word : command) script += ' ' + spec::shell_quote(word);
  return script + '\n';
}

}  // namespace dlaunch
