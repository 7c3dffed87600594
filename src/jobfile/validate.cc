#include "jobfile/validate.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "jobfile/expectation.h"
#include "model/rank_variables.h"
#include "text/metric_pattern.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

/// A larger number is a typing error, and would fail later with a less helpful message.
constexpr std::int64_t kMostRanks = 100'000;
/// Time between fencing and the moment when other nodes may rely on it
/// (docs/internals/architecture.md, lost channels).
constexpr Duration kFenceMargin = std::chrono::seconds(2);

class KeyValidator : public Validator {
 public:
  using Validator::Validator;

  void check_counts();
  void check_size();
  void check_launch();
  void check_mpirun();
  void check_containers();
  void check_variables();
  void check_timeouts();
  void check_command();
  void check_setup();
  void check_metrics();
  void check_stdin();
  void check_stage();
  void check_stage(const std::vector<Transfer>& items, const std::string& list,
                   std::map<std::string, std::string>& places);
  void check_collect();
  void check_collect(std::size_t one, std::size_t other);

 private:
  void check_rank_variables(const std::string& section, const std::string& shown);
  [[nodiscard]] std::vector<std::string> container_sections() const;
};

void KeyValidator::check_counts() {
  // An explicit `processes_per_node: auto` does not count as given.
  if (job_.processes && job_.processes_per_node.kind != ProcessesPerNode::Kind::automatic) {
    contradict("processes", "processes_per_node",
               "processes is the total, processes_per_node the number on each node; give only one "
               "of them");
  }
  if (job_.processes && find("roles") != nullptr) {
    contradict("processes", "roles",
               "roles determine the number of processes; give either roles or processes");
  }
  if (job_.framework == Framework::gcp &&
      job_.processes_per_node.kind != ProcessesPerNode::Kind::automatic) {
    contradict("processes_per_node", "framework",
               "framework: gcp starts one process for each machine of the service; use processes "
               "or roles for several on a node");
  }
}

void KeyValidator::check_size() {
  const std::int64_t nodes = job_.nodes ? job_.nodes->max : 1;
  std::int64_t ranks = 0;
  for (const RoleSpec& role : job_.roles) ranks += role.count;
  const std::string most = std::to_string(kMostRanks);
  if (job_.nodes && job_.nodes->min > job_.nodes->max) {
    contradict("nodes.min", "nodes.max", "nodes.min is greater than nodes.max");
  }
  if (job_.processes_per_node.kind == ProcessesPerNode::Kind::count &&
      nodes * job_.processes_per_node.count > kMostRanks) {
    contradict("nodes", "processes_per_node",
               "nodes and processes_per_node make " +
                   std::to_string(nodes * job_.processes_per_node.count) +
                   " ranks; dlaunch starts at most " + most);
  }
  if (ranks > kMostRanks) {
    contradict(
        "roles", "roles",
        "the roles make " + std::to_string(ranks) + " ranks; dlaunch starts at most " + most);
  }
  // With a range, fewer processes than the maximum simply use fewer nodes.
  const std::int64_t fewest = job_.nodes ? job_.nodes->min : 1;
  if (job_.processes && *job_.processes < fewest) {
    contradict("processes", "nodes",
               std::to_string(*job_.processes) +
                   (*job_.processes == 1 ? " process" : " processes") + " cannot fill " +
                   std::to_string(fewest) + " nodes");
  }
  if (ranks > 0 && ranks < fewest) {
    contradict("roles", "nodes",
               "the " + std::to_string(ranks) + (ranks == 1 ? " process" : " processes") +
                   " of the roles cannot fill " + std::to_string(fewest) + " nodes");
  }
}

void KeyValidator::check_launch() {
  for (KeyConflict& conflict : launch_conflicts(job_))
    contradict(conflict.first, conflict.second, std::move(conflict.why));
}

void KeyValidator::check_mpirun() {
  if (job_.mpi.launcher != Mpi::Launcher::mpirun) {
    if (!job_.mpi.program.empty())
      contradict("mpi.program", "mpi.launcher",
                 "mpi.program names the program of mpi.launcher: mpirun; give both");
    return;
  }
  const std::string& program = job_.mpi.program;
  if (program.find('/') != std::string::npos && !program.starts_with('/')) {
    contradict("mpi.program", "mpi.program",
               "mpirun is looked for on the first node: give a name that is in PATH there, or an "
               "absolute path");
  }
  if (job_.launch != Launch::per_process) {
    contradict("mpi.launcher", "launch",
               "mpirun starts every rank, so mpi.launcher: mpirun needs launch: per-process");
  }
  if (find("mpi.pmi") != nullptr) {
    contradict("mpi.launcher", "mpi.pmi",
               "mpirun chooses how ranks meet; leave out mpi.pmi, or mpi.launcher");
  }
  if (has_keys_under("roles.") || find("roles") != nullptr)
    contradict("mpi.launcher", "roles", "mpirun does not support roles; leave out mpi.launcher");
  if (!job_.connect.command.empty()) {
    contradict("mpi.launcher", "connect.command",
               "mpirun reaches nodes by ssh alone, so connect.command cannot be used with it");
  }
}

void KeyValidator::check_containers() {
  for (const std::string& section : container_sections()) {
    if (job_.mpi.launcher == Mpi::Launcher::mpirun) {
      contradict("mpi.launcher", section + ".image",
                 "mpirun's ranks do not run in containers; leave out mpi.launcher: dlaunch "
                 "starts MPI programs in containers itself");
    }
    if (job_.isolation == Isolation::pid_namespace) {
      contradict("isolation", section + ".image",
                 "dlaunch must see a container's processes to end it; leave out isolation: "
                 "containers are always ended completely");
    }
  }
}

std::vector<std::string> KeyValidator::container_sections() const {
  std::vector<std::string> sections;
  if (job_.container) sections.emplace_back("container");
  for (const RoleSpec& role : job_.roles) {
    if (role.container) sections.push_back("roles." + role.name + ".container");
  }
  return sections;
}

void KeyValidator::check_rank_variables(const std::string& section, const std::string& shown) {
  for (auto it = given_.lower_bound(section); it != given_.end() && it->first.starts_with(section);
       ++it) {
    const std::string name = it->first.substr(section.size());
    // An invalid name was already reported, and may be unprintable.
    const bool is_name = std::all_of(name.begin(), name.end(), [](char c) {
      return is_variable_name({&c, 1}) || (c >= '0' && c <= '9') || c == '*' || c == '?';
    });
    if (!is_name || !is_rank_variable(job_.framework, name)) continue;
    diagnostics_.error(it->second.key, name + " is reserved for dlaunch; remove it from " +
                                           diagnostics_.key_at(shown, it->second.key));
  }
}

void KeyValidator::check_variables() {
  check_rank_variables("env.", "env");
  check_rank_variables("env_pass.", "env_pass");
  check_rank_variables("env_secret.", "env_secret");
  for (const RoleSpec& role : job_.roles) {
    const std::string section = "roles." + role.name + ".env";
    check_rank_variables(section + ".", section);
  }
  for (const std::string& name : job_.env_secret) {
    if (find("env." + name) == nullptr || diagnostics_.is_full()) continue;
    contradict(
        "env." + name, "env_secret." + name,
        name + " is in env, whose values are shown, and in env_secret; remove it from one of them");
  }
}

void KeyValidator::check_timeouts() {
  const Timeouts& t = job_.timeouts;
  const Duration least = t.fence_after + kHeartbeat + kFenceMargin;
  if (least < t.lost_after) return;
  const bool only_fence_given = find("timeouts.lost_after") == nullptr;
  contradict("timeouts.fence_after", "timeouts.lost_after",
             "timeouts.lost_after must be more than " + duration_text(least) +
                 " (fence_after + 3s), or ranks of a node that was given up may still run",
             only_fence_given ? "lost_after is " + duration_text(t.lost_after) + " by default"
                              : "fence_after is " + duration_text(t.fence_after) + " by default");
}

void KeyValidator::check_command() {
  if (find("command") != nullptr) return check_setup();  // given, perhaps with its own error
  const bool has_ranks = std::any_of(job_.roles.begin(), job_.roles.end(),
                                     [](const RoleSpec& role) { return role.count > 0; });
  // A role without a count has its own error.
  if (has_keys_under("roles.") && !has_ranks && !diagnostics_.empty()) return check_setup();
  const bool has_command = job_.command.is_shell || !job_.command.argv.empty();
  std::string without;  // a role that needs the job's command
  bool all_have_own = false;
  for (const RoleSpec& role : job_.roles) {
    if (role.count == 0) continue;
    const bool has_own = find("roles." + role.name + ".command") != nullptr;
    if (!has_own && without.empty()) without = role.name;
    all_have_own = without.empty();
  }
  if (has_command && all_have_own) {
    diagnostics_.error(SourceRange::whole(0),
                       "every role has its own command, so the command after -- would not run");
  } else if (!has_command && !all_have_own) {
    const std::string whose = without.empty() ? "no command" : "no command for the role " + without;
    diagnostics_.error(SourceRange::whole(0),
                       whose + "; add \"command: python train.py\", or write it after --");
  }
  check_setup();
}

void KeyValidator::check_setup() {
  constexpr const char* kAdvice =
      "setup needs a shell, but a command that is a list is executed without one; make the command "
      "a string";
  if (job_.setup.empty()) return;
  if (!job_.command.is_shell && !job_.command.argv.empty())
    contradict("setup", "command", kAdvice, "the command after -- is a list");
  for (const RoleSpec& role : job_.roles) {
    if (role.command && !role.command->is_shell)
      contradict("setup", "roles." + role.name + ".command", kAdvice);
  }
}

void KeyValidator::check_metrics() {
  for (const auto& [name, pattern] : job_.metrics) {
    const GivenKey* const key = find("metrics." + name);
    const std::string problem = metric_problem(pattern);
    if (problem.empty() || diagnostics_.is_full()) continue;
    diagnostics_.error(key != nullptr ? key->value : SourceRange::whole(0),
                       "the pattern of metrics." + name + ' ' + problem);
  }
  if (job_.prometheus.empty() || job_.prometheus.ends_with(".prom")) return;
  const GivenKey* const key = find("metrics.prometheus");
  diagnostics_.error(key != nullptr ? key->value : SourceRange::whole(0),
                     "metrics.prometheus must be a file whose name ends in .prom, which "
                     "node_exporter requires, not " +
                         in_quotes(job_.prometheus));
}

/// If the number of ranks is known only from the nodes, the plan checks the rank
/// (plan/make_plan.cc).
void KeyValidator::check_stdin() {
  const auto exists = [&](const char* key, std::uint32_t rank) {
    if (!job_.processes || rank < static_cast<std::uint32_t>(*job_.processes)) return;
    contradict(key, "processes",
               "there is no rank " + std::to_string(rank) + ": processes is " +
                   std::to_string(*job_.processes));
  };
  if (job_.stdin_for == StdinFor::rank) exists("stdin", job_.stdin_rank);
  if (!job_.pty) return;
  exists("pty", *job_.pty);
  const bool is_same = job_.stdin_for != StdinFor::none && job_.stdin_rank == *job_.pty;
  if (job_.stdin_for != StdinFor::automatic && !is_same)
    contradict("pty", "stdin", "the rank of pty reads dlaunch's standard input; leave out stdin");
}

void KeyValidator::check_collect() {
  if (job_.collect.empty() && job_.collect_limit > 0)
    contradict("collect_limit", "collect", "collect_limit has no effect: nothing is collected");
  for (std::size_t i = 0; i < job_.collect.size(); ++i) {
    for (std::size_t other = 0; other < i; ++other) check_collect(other, i);
  }
}

/// Finds targets that are equal or nested as written. Other targets that turn out to be equal or
/// nested are reported at the end of a run.
void KeyValidator::check_collect(std::size_t one, std::size_t other) {
  const auto stripped = [](const std::string& path) {
    return path.substr(0, path.find_last_not_of('/') + 1);
  };
  const auto target = [&stripped](const Transfer& line) {
    // Unlike any given path, this one begins with a line feed.
    return line.to.empty() ? '\n' + std::string(file_name(stripped(line.from))) : stripped(line.to);
  };
  const std::string a = target(job_.collect[one]);
  const std::string b = target(job_.collect[other]);
  const bool is_same = a == b;
  const bool into_one =
      job_.collect[one].to.ends_with('/') && job_.collect[other].to.ends_with('/');
  if (is_same ? into_one : !is_in_folder(a, b) && !is_in_folder(b, a)) return;
  const std::string key = "collect[" + std::to_string(other) + "]";
  const GivenKey* const given =
      find(key + ".to") != nullptr ? find(key + ".to") : find(key + ".from");
  if (given == nullptr || !given->good) return;
  diagnostics_.error(given->value,
                     key + (is_same ? " has the same `to` as collect[" : " and collect[") +
                         std::to_string(one) + (is_same ? "]" : "] have nested targets"));
}

void KeyValidator::check_stage() {
  std::map<std::string, std::string> places;  // by path of the copy: the item that has it
  check_stage(job_.sync.paths, "sync.paths", places);
  check_stage(job_.stage, "stage", places);
}

void KeyValidator::check_stage(const std::vector<Transfer>& items, const std::string& list,
                               std::map<std::string, std::string>& places) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string line = list + '[' + std::to_string(i) + ']';
    const std::string key = line + ".to";
    const GivenKey* const given = find(key);
    if (given == nullptr && items[i].unpack)
      contradict(line + ".unpack", key, "unpack needs `to`, the folder for the archive's content");
    if (items[i].unpack && !items[i].exclude.empty())
      contradict(line + ".exclude", line + ".unpack", "exclude is for folders, not for archives");
    if (given == nullptr || !given->good || diagnostics_.is_full()) continue;
    const std::string& to = items[i].to;
    std::string problem;
    std::string place;
    for (std::size_t at = 0; at < to.size();) {
      const std::size_t end = std::min(to.find('/', at), to.size());
      const std::string name = to.substr(at, end - at);
      if (name == "." || name == ".." || name == ".git") problem = "must not contain " + name;
      if (!name.empty()) place += '/' + name;
      at = end + 1;
    }
    if (!to.starts_with('/')) problem = "must be an absolute path, the same on all nodes";
    if (problem.empty() && place.empty()) problem = "must name a file or a folder, not /";
    const auto [other, is_new] = places.try_emplace(place, line);
    if (problem.empty() && !is_new) problem = "must differ from that of " + other->second;
    if (!problem.empty())
      diagnostics_.error(given->value, key + " " + problem + ", but is " + in_quotes(to));
  }
}

}  // namespace

void validate(const JobSpec& job, const GivenKeys& given, Diagnostics& diagnostics) {
  KeyValidator validator(job, given, diagnostics);
  validator.check_counts();
  validator.check_size();
  validate_roles(job, given, diagnostics);
  validator.check_launch();
  validator.check_mpirun();
  validator.check_containers();
  validator.check_variables();
  validator.check_timeouts();
  validator.check_command();
  validator.check_metrics();
  validator.check_stdin();
  validator.check_stage();
  validator.check_collect();
  validate_hosts(job, given, diagnostics);
}

void Validator::contradict(const std::string& first, const std::string& second, std::string message,
                           const std::string& otherwise) {
  const GivenKey* a = find(first);
  const GivenKey* b = find(second);
  const bool has_error_of_its_own = (a != nullptr && !a->good) || (b != nullptr && !b->good);
  if (has_error_of_its_own || (a == nullptr && b == nullptr)) return;
  if (a == nullptr || b == nullptr || a == b) {
    if (!otherwise.empty()) message += " (" + otherwise + ")";
    diagnostics_.error((a != nullptr ? a : b)->key, std::move(message));
    return;
  }
  const bool a_is_later = b->key < a->key;
  const SourceRange other = (a_is_later ? b : a)->key;
  message += " (" + diagnostics_.key_at(a_is_later ? second : first, other) + ", " +
             diagnostics_.refer_to(other) + ")";
  diagnostics_.error((a_is_later ? a : b)->key, std::move(message));
}

}  // namespace dlaunch::jobfile
