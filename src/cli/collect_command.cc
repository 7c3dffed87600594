#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/load_job.h"
#include "cli/print.h"
#include "jobfile/hostlist.h"
#include "jobfile/shell_quote.h"
#include "launch/collect/collect_settings.h"
#include "launch/session/rehearsal.h"
#include "model/environment.h"
#include "os/own_machine.h"
#include "os/unique_fd.h"
#include "runs/run_index.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch collect                   what the newest run left on its nodes\n"
    "  dlaunch collect k3f               a unique end of a run's id\n"
    "  dlaunch collect k3f --set 'collect=[{from: /local/out}]'\n"
    "                                    something that the job did not name\n"
    "\n"
    "Files that are already here are not sent again. If the launcher of the run was\n"
    "killed, the output of its ranks is collected too.\n"
    "Exit code: 0 everything is here; 74 a node could not be reached, or something\n"
    "is missing; 64 usage, 65 job file.";

/// The names of the nodes that had ranks.
std::set<std::string> nodes_of(const RunView& run) {
  std::set<std::string> names;
  for (const std::string& label : rank_labels(run.path))
    names.insert(label.substr(0, label.rfind(':')));
  return names;
}

/// Adds the output of ranks that is still on their nodes.
void add_output(const RunView& run, CollectSettings& settings) {
  const auto attempts = attempts_of(run.path);
  if (attempts.empty()) return;
  const std::string folder = run.path + "/attempt-" + std::to_string(attempts.back()) + '/';
  for (const LeftOutput& left : run.left) {
    for (CollectSettings::From& node : settings.nodes) {
      if (node.name != left.node) continue;
      for (const Rank rank : left.ranks) {
        for (const char* stream : {".out", ".err", ".error.json"}) {
          const std::string name = "rank-" + std::to_string(rank.value) + stream;
          node.optional.push_back({left.folder + '/' + name, folder + name});
        }
      }
    }
  }
}

/// Nodes that had ranks but are not among the hosts that the job has now.
std::vector<std::string> missing_hosts(const RunView& run, const JobSpec& spec) {
  std::set<std::string> names = nodes_of(run);
  for (const HostSpec& host : spec.hosts.hosts) names.erase(host.name);
  if (spec.hosts.hosts.empty()) names.clear();  // this machine
  return {names.begin(), names.end()};
}

void add_unknown(const std::vector<std::string>& names, CollectSettings& settings) {
  auto number = static_cast<std::uint32_t>(settings.nodes.size());
  for (const std::string& name : names) {
    CollectSettings::From& from = settings.nodes.emplace_back();
    from.node = NodeId(number++);
    from.name = name;
    from.problem = "is no longer among the hosts of the job";
  }
}

struct CollectCommand {
  JobOptions job;
  std::string word;
  bool quiet = false;

  int execute() const {
    const auto folder = current_folder();
    if (!folder) return print_error(folder.error());
    auto run = find(*folder);
    if (!run) return print_error(run.error());
    // Keeps `dlaunch runs --prune` from removing the run.
    const UniqueFd in_use(::open(run->path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (in_use && ::flock(in_use.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      return print_error({exit_code::kUsage, "run " + run->id + " is being removed"});
    const auto loaded = load(*run, *folder);
    if (!loaded) return print_error(loaded.error());
    PlanContext context;
    context.launcher_env = environment_from_block(environ);
    context.current_folder = *folder;
    const CollectPlace place = place_of(*run, loaded->spec, context);
    const auto report = collect_from_nodes(
        loaded->spec, context,
        [&](const std::vector<CollectNode>& nodes) {
          CollectSettings settings = collect_settings(loaded->spec, place, nodes);
          add_output(*run, settings);
          if (!job.hosts && !job.hostfile && !job.include && !job.exclude)
            add_unknown(missing_hosts(*run, loaded->spec), settings);
          return settings;
        },
        [this](const std::string& text) {
          if (!quiet) show_progress(text);
        });
    if (!report) return print_error(report.error());
    for (const std::string& remark : remarks_on(*report))
      std::fprintf(stderr, "dlaunch: note: %s\n", remark.c_str());
    if (!report->is_whole())
      return print_error(
          {exit_code::kNotCollected, problems_in(*report, word.empty() ? run->id : word)});
    if (!quiet) std::fprintf(stderr, "dlaunch: %s\n", collected_text(*report).c_str());
    return exit_code::kOk;
  }

  [[nodiscard]] Result<RunView> find(const std::string& folder) const {
    const auto folders = run_folders("");
    if (!folders) return tl::unexpected(folders.error());
    auto run = find_run(*folders, word);
    if (!run) return run;
    if (is_live(run->state))
      return fail(exit_code::kUsage, "run " + run->id +
                                         " has not ended and collects when it ends; "
                                         "to end it: dlaunch stop " +
                                         word_for_run(run->path));
    if (!run->path.starts_with('/')) run->path = folder + '/' + run->path;
    return run;
  }

  /// The job as it was run, but only with the hosts that had ranks.
  [[nodiscard]] Result<LoadedJob> load(const RunView& run, const std::string& folder) const {
    JobOptions wanted = job;
    wanted.file = run.path + "/job.yaml";
    auto loaded = load_job(wanted, folder);
    if (!loaded) return loaded;
    if (loaded->spec.collect.empty() && run.left.empty())
      return fail(exit_code::kUsage, "the job of run " + run.id +
                                         " has no `collect`; to collect a path anyway: dlaunch "
                                         "collect " +
                                         (word.empty() ? run.id : jobfile::shell_quote(word)) +
                                         " --set 'collect=[{from: /local/out}]'");
    // Resolves all hosts, because any of them may have had ranks.
    loaded->spec.nodes.reset();
    loaded->spec.processes.reset();
    loaded->spec.spares = 0;
    if (const Status hosts = resolve_job_hosts(wanted, quiet, *loaded); !hosts)
      return tl::unexpected(hosts.error());
    if (job.hosts || job.hostfile) return loaded;
    const std::set<std::string> names = nodes_of(run);
    auto& hosts = loaded->spec.hosts.hosts;
    if (!names.empty())
      std::erase_if(hosts, [&](const HostSpec& host) { return !names.contains(host.name); });
    const bool was_here = names.empty() || names.contains(own_hostname());
    if (hosts.empty() && !was_here)
      return fail(exit_code::kUsage, "none of the nodes of run " + run.id +
                                         " is still among the hosts of its job; to "
                                         "name them: --hosts " +
                                         jobfile::compress_hostlist({names.begin(), names.end()}));
    return loaded;
  }

  static CollectPlace place_of(const RunView& run, const JobSpec& spec,
                               const PlanContext& context) {
    CollectPlace place;
    place.run_id = run.id;
    place.run_folder = run.path;
    place.started_in = run.witness.record ? run.witness.record->folder : context.current_folder;
    place.workdir =
        spec.workdir.starts_with('/') ? spec.workdir : place.started_in + '/' + spec.workdir;
    place.has_several = nodes_of(run).size() > 1;
    place.home = find_variable(context.launcher_env, "HOME").value_or("");
    return place;
  }
};

}  // namespace

Subcommand collect_command() {
  auto collect = std::make_shared<CollectCommand>();
  const auto describe = [collect](CommandOptions options) {
    options.positional("RUN", collect->word,
                       "Unique beginning or end of an id, or a folder\n"
                       "(default: the newest run)");
    add_host_options(options, collect->job);
    options.flag("-q,--quiet", collect->quiet, "Only failures");
  };
  return {"collect", "Fetch the results of a run from its nodes", kFooter, describe,
          [collect] { return collect->execute(); }};
}

}  // namespace dlaunch
