// MPIJob: its launcher's command is an mpirun line, and dlaunch starts the program of that line
// (mpirun_line.cc). Rules: mpi-operator's API, mpirun(1) of Open MPI 4.
#include <algorithm>
#include <string_view>

#include "jobfile/dialects/kubeflow.h"
#include "jobfile/dialects/shell_words.h"
#include "jobfile/dialects/started_programs.h"
#include "text/strings.h"

namespace dlaunch::jobfile::kubeflow {

namespace {

/// The path where mpi-operator mounts the hostfile.
constexpr std::string_view kHostfile = "/etc/mpi/hostfile";

/// Why a shell command is not a single mpirun line, and the remedy.
std::string no_single_line(std::string_view command) {
  const auto started = started_commands(command);
  const auto lines = std::count_if(started.begin(), started.end(),
                                   [](const auto& words) { return starts_ranks(words.front()); });
  const std::string how =
      lines > 1 ? "starts mpirun " + std::to_string(lines) +
                      " times, but dlaunch runs one job: "
                      "keep only one mpirun line"
                : "does more than start mpirun, whose program dlaunch starts itself: keep only "
                  "the mpirun line";
  return "the launcher's shell command " + how + kOrAsItIs;
}

}  // namespace

std::optional<std::vector<LocatedText>> without_shell(Translation& t,
                                                      const std::vector<LocatedText>& words) {
  std::string_view program = words.empty() ? std::string_view() : words[0].text;
  program.remove_prefix(program.rfind('/') + 1);  // npos + 1 is 0
  const bool is_shell = program == "sh" || program == "bash";
  if (!is_shell || words.size() < 3) return words;
  const std::string& option = words[1].text;
  if (option != "-c" && option != "-ec" && option != "-lc" && option != "-xc") return words;
  std::string line = words[2].text;
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  if (line.starts_with("exec ")) line.erase(0, 5);
  const auto inside = simple_words(line);
  if (!inside) {
    t.diagnostics.error(words[2].range, no_single_line(line));
    return std::nullopt;
  }
  std::vector<LocatedText> out;
  for (const std::string& word : *inside) out.push_back({word, words[2].range});
  return out;
}

namespace {

class MpiJob {
 public:
  MpiJob(Translation& translation, ForeignKeys& spec) : t_(translation), spec_(spec) {}

  void translate() {
    ForeignKeys specs = spec_.mapping("mpiReplicaSpecs", Spelling::loose);
    Pods launcher = read_pods(t_, specs, "Launcher", "", "");
    const Pods worker = read_pods(t_, specs, "Worker", "", "");
    specs.refuse_others();
    if (!launcher.is_given) {
      if (!spec_.has_mistake("mpiReplicaSpecs"))
        t_.diagnostics.error(spec_.range(), "an MPIJob needs mpiReplicaSpecs with a Launcher");
      return;
    }
    add_variables(t_, launcher, {});
    spec_.skip(
        {"cleanPodPolicy", "mpiImplementation", "sshAuthMountPath", "launcherCreationPolicy"});
    const SourceRange at = launcher.replicas.range;
    if (is_set_once()) return run_as_it_is(launcher.replicas, worker);
    const auto line = read_line(launcher.replicas, at);
    if (!line) return;
    t_.job.text({"framework"}, line->is_horovod ? "horovod" : "mpi", at);
    // mpirun accepts programs that only read its variables and do not call MPI_Init.
    if (!line->is_horovod) t_.job.text({"mpi", "init"}, "optional", at);
    set_command(t_.job, {"command"}, line->program, at);
    set_size(worker, *line, at);
    set_environment(launcher, *line);
    // mpirun starts ranks in its own working directory.
    Replicas ranks = worker.is_given ? worker.replicas : launcher.replicas;
    ranks.workdir = launcher.replicas.workdir;
    if (!ranks.image.text.empty()) set_container(t_, {"container"}, ranks);
    pass_variables(launcher, *line, at);
  }

 private:
  [[nodiscard]] bool is_set_once() const {
    const auto& overrides = t_.input.overrides;
    return std::any_of(overrides.begin(), overrides.end(), [](const Override& override) {
      return override.key == "launch" && override.value == "once";
    });
  }

  /// --set launch=once: runs the command once, on the first node; its mpirun finds the hosts in a
  /// hostfile.
  void run_as_it_is(const Replicas& launcher, const Pods& worker) {
    const SourceRange at = launcher.range;
    t_.job.text({"framework"}, "none", at);
    t_.job.text({"launch"}, "once", at);
    t_.job.number({"nodes"}, nodes_of(worker), at);
    const auto slots = spec_.integer("slotsPerWorker", 1);
    t_.job.number({"processes_per_node"}, slots ? slots->value : 1, slots ? slots->range : at);
    const std::vector<LocatedText> words = words_of(t_, launcher);
    set_command(t_.job, {"command"}, words, at);
    for (const LocatedText& word : words)
      if (word.text.find(kHostfile) != std::string::npos)
        t_.note_at(word.range,
                   std::string(kHostfile) +
                       " is the operator's hostfile; remove it from the command: mpirun "
                       "finds dlaunch's hostfile ($DLAUNCH_HOSTFILE)");
    for (const EnvVariable& variable : launcher.env)
      t_.job.text({"env", variable.name}, variable.value, variable.range);
    if (!launcher.image.text.empty()) set_container(t_, {"container"}, launcher);
  }

  /// The number of nodes; at least one, the node of the launcher.
  std::int64_t nodes_of(const Pods& worker) {
    std::int64_t nodes = worker.is_given ? worker.replicas.count.value : 0;
    if (spec_.is_true("runLauncherAsWorker")) ++nodes;
    return std::max<std::int64_t>(nodes, 1);
  }

  /// Hydra is the mpirun of Intel MPI and MPICH.
  bool is_hydra(const MpirunLine& line) {
    const auto implementation = spec_.text("mpiImplementation");
    return line.is_hydra ||
           (implementation && (implementation->text == "Intel" || implementation->text == "MPICH"));
  }

  /// Reports more processes than slots. Open MPI and horovodrun refuse them ("There are not enough
  /// slots available"), but Hydra wraps around. Without workers mpirun counts the cores of the
  /// launcher.
  void check_slots(const Pods& worker, const MpirunLine& line, std::int64_t slots) {
    if (!line.processes || line.oversubscribe || is_hydra(line) || !worker.is_given) return;
    const std::int64_t nodes = nodes_of(worker);
    if (worker.replicas.count.value == 0 || line.processes->value <= nodes * slots) return;
    const std::string hosts = counted(nodes, "worker") + " with " + std::to_string(slots) +
                              (slots == 1 ? " slot each" : " slots each");
    t_.diagnostics.error(line.processes->range,
                         "mpirun refuses " + std::to_string(line.processes->value) +
                             " processes on " + hosts +
                             "; raise slotsPerWorker or the replicas of the Worker, start fewer "
                             "processes, or add --oversubscribe to the mpirun line");
  }

  /// The mpirun line. If the file has no command, the words after "--" may be the program itself;
  /// workers and slots then determine the number of ranks.
  std::optional<MpirunLine> read_line(const Replicas& launcher, SourceRange at) {
    const std::vector<LocatedText> own = words_of(t_, launcher);
    if (launcher.command.empty() && !own.empty() && !starts_ranks(own.front().text)) {
      MpirunLine line;
      line.program = own;
      return line;
    }
    const auto words = without_shell(t_, own);
    return words ? read_mpirun_line(t_, *words, at) : std::nullopt;
  }

  /// Sets the numbers of nodes and processes. "-np below the slots" fills the first nodes
  /// (mpirun(1): by slot is the default).
  void set_size(const Pods& worker, const MpirunLine& line, SourceRange at) {
    const auto in_spec = spec_.integer("slotsPerWorker", 1);
    const auto given = line.per_node ? line.per_node : in_spec;
    const std::int64_t slots = given ? given->value : 1;
    check_slots(worker, line, slots);
    std::int64_t nodes = nodes_of(worker);
    const std::int64_t count = line.processes ? line.processes->value : nodes * slots;
    nodes = std::min(nodes, line.is_by_node ? count : (count + slots - 1) / slots);
    const SourceRange where = worker.is_given ? worker.replicas.count.range : at;
    t_.job.number({"nodes"}, nodes, where);
    if (count == nodes * slots) {
      t_.job.number({"processes_per_node"}, slots, given ? given->range : where);
    } else {
      t_.job.number({"processes"}, count, line.processes ? line.processes->range : where);
    }
    if (line.is_by_node && nodes > 1) t_.job.text({"placement"}, "spread", at);
    if (line.oversubscribe) t_.job.boolean({"mpi", "oversubscribe"}, true, at);
  }

  /// Sets the variables that reach the ranks. Hydra (Intel MPI, MPICH) and horovodrun pass on their
  /// whole environment; Open MPI passes on only -x names and OMPI_* (mpirun(1), "Exported
  /// Environment Variables").
  void set_environment(const Pods& launcher, const MpirunLine& line) {
    const bool gives_all = line.is_horovod || (is_hydra(line) && !line.names_passed);
    std::vector<std::string_view> dropped;
    for (const EnvVariable& variable : launcher.replicas.env) {
      const bool is_passed =
          std::any_of(line.passed.begin(), line.passed.end(),
                      [&](const LocatedText& name) { return name.text == variable.name; });
      if (gives_all || variable.name.starts_with("OMPI_")) {
        t_.job.text({"env", variable.name}, variable.value, variable.range);
      } else if (!is_passed) {
        dropped.push_back(variable.name);
      }
    }
    if (!dropped.empty())
      t_.note_at(launcher.replicas.range,
                 "variables of the launcher that its command does not pass on to the ranks: " +
                     joined(dropped));
  }

  /// Passes on the variables of -x. mpirun runs in a pod, so variables that the pod's `env` does
  /// not define come from the image, and the ranks have them anyway. Without an image they come
  /// from dlaunch's own environment.
  void pass_variables(const Pods& launcher, const MpirunLine& line, SourceRange at) {
    const bool in_image = t_.job.has({"container", "image"}) && !t_.input.foreign.no_container;
    for (const LocatedText& name : line.passed) {
      const auto& env = launcher.replicas.env;
      const auto own = std::find_if(env.begin(), env.end(),
                                    [&](const EnvVariable& v) { return v.name == name.text; });
      if (own != env.end()) {
        t_.job.text({"env", name.text}, own->value, own->range);
      } else if (!in_image) {
        t_.pass_on(name);
      }
    }
    for (const EnvVariable& variable : line.env)
      t_.job.text({"env", variable.name}, variable.value, variable.range);
    if (!line.ignored.empty())
      t_.note_at(at, "options of mpirun that are not used, as dlaunch starts the ranks: " +
                         joined(line.ignored));
  }

  Translation& t_;
  ForeignKeys& spec_;
};

}  // namespace

void translate_mpi_job(Translation& translation, ForeignKeys& spec) {
  MpiJob(translation, spec).translate();
}

}  // namespace dlaunch::jobfile::kubeflow
