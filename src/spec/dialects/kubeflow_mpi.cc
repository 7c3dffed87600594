// MPIJob: its launcher's command is an mpirun line; dlaunch starts the program behind it
// (mpirun_line.cc). Rules: mpi-operator's API, mpirun(1) of Open MPI 4.
#include <algorithm>
#include <string_view>

#include "spec/dialects/kubeflow.h"
#include "spec/dialects/shell_words.h"

namespace dlaunch::spec::kubeflow {

namespace {

/// The mpirun line inside `sh -c "..."`; nullopt: it is not simple, which was reported.
std::optional<std::vector<PlacedText>> without_shell(Translation& t,
                                                     const std::vector<PlacedText>& words) {
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
    t.diagnostics.error(words[2].place,
                        "the launcher's shell command is more than one mpirun line, of which "
                        "dlaunch would need the program");
    return std::nullopt;
  }
  std::vector<PlacedText> out;
  for (const std::string& word : *inside) out.push_back({word, words[2].place});
  return out;
}

class MpiJob {
 public:
  MpiJob(Translation& translation, ForeignKeys& spec) : t_(translation), spec_(spec) {}

  void translate() {
    ForeignKeys specs = spec_.mapping("mpiReplicaSpecs", Spelling::loose);
    const Pods launcher = read_pods(t_, specs, "Launcher", "", "");
    const Pods worker = read_pods(t_, specs, "Worker", "", "");
    specs.refuse_others();
    if (!launcher.is_given) {
      if (!spec_.has_mistake("mpiReplicaSpecs"))
        t_.diagnostics.error(spec_.place(), "an MPIJob needs mpiReplicaSpecs with a Launcher");
      return;
    }
    const Place at = launcher.replicas.place;
    const auto line = read_line(launcher.replicas, at);
    if (!line) return;
    t_.job.text({"framework"}, line->is_horovod ? "horovod" : "mpi", at);
    // mpirun does not mind programs that only read its variables.
    if (!line->is_horovod) t_.job.text({"mpi", "init"}, "optional", at);
    t_.job.texts({"command"}, line->program, at);
    set_size(worker, *line, at);
    set_environment(launcher, *line);
    // mpirun starts ranks in the folder that it is in itself.
    Replicas ranks = worker.is_given ? worker.replicas : launcher.replicas;
    ranks.workdir = launcher.replicas.workdir;
    if (!ranks.image.text.empty()) set_container(t_, {"container"}, ranks);
    pass_variables(launcher, *line, at);
    spec_.skip(
        {"cleanPodPolicy", "mpiImplementation", "sshAuthMountPath", "launcherCreationPolicy"});
  }

 private:
  /// Without a command the image has it, and the words after "--" are the program itself: how many
  /// ranks there are, workers and slots say.
  std::optional<MpirunLine> read_line(const Replicas& launcher, Place at) {
    const std::vector<PlacedText> own = words_of(t_, launcher);
    if (launcher.command.empty() && !own.empty() && !starts_ranks(own.front().text)) {
      MpirunLine line;
      line.program = own;
      return line;
    }
    const auto words = without_shell(t_, own);
    return words ? read_mpirun_line(t_, *words, at) : std::nullopt;
  }

  /// "-np below the slots": those of the first nodes are filled (mpirun(1): by slot is the
  /// default).
  void set_size(const Pods& worker, const MpirunLine& line, Place at) {
    const auto in_spec = spec_.integer("slotsPerWorker", 1);
    const auto given = line.per_node ? line.per_node : in_spec;
    const std::int64_t slots = given ? given->value : 1;
    std::int64_t nodes = worker.is_given ? worker.replicas.count.value : 0;
    if (spec_.is_true("runLauncherAsWorker")) ++nodes;
    nodes = std::max<std::int64_t>(nodes, 1);
    const std::int64_t count = line.processes ? line.processes->value : nodes * slots;
    nodes = std::min(nodes, line.is_by_node ? count : (count + slots - 1) / slots);
    const Place where = worker.is_given ? worker.replicas.count.place : at;
    t_.job.number({"nodes"}, nodes, where);
    if (count == nodes * slots) {
      t_.job.number({"processes_per_node"}, slots, given ? given->place : where);
    } else {
      t_.job.number({"processes"}, count, line.processes ? line.processes->place : where);
    }
    if (line.oversubscribe) t_.job.boolean({"mpi", "oversubscribe"}, true, at);
  }

  /// Hydra (also Intel MPI and MPICH) and horovodrun give the ranks all that they have themselves;
  /// Open MPI only what -x names, and OMPI_*: mpirun(1), "Exported Environment Variables".
  void set_environment(const Pods& launcher, const MpirunLine& line) {
    const auto implementation = spec_.text("mpiImplementation");
    const bool is_hydra =
        line.is_hydra ||
        (implementation && (implementation->text == "Intel" || implementation->text == "MPICH"));
    const bool gives_all = line.is_horovod || (is_hydra && !line.names_passed);
    std::string dropped;
    for (const EnvVariable& variable : launcher.replicas.env) {
      const bool is_passed =
          std::any_of(line.passed.begin(), line.passed.end(),
                      [&](const PlacedText& name) { return name.text == variable.name; });
      if (gives_all || variable.name.starts_with("OMPI_")) {
        t_.job.text({"env", variable.name}, variable.value, variable.place);
      } else if (!is_passed) {
        dropped += (dropped.empty() ? "" : ", ") + variable.name;
      }
    }
    if (!dropped.empty())
      t_.note_at(
          launcher.replicas.place,
          "variables of the launcher that its command does not pass on to the ranks: " + dropped);
  }

  /// mpirun runs in a pod: what the pod's `env` does not define there is the image's, and ranks in
  /// the image have that anyway. Without an image it is what mpirun would find here.
  void pass_variables(const Pods& launcher, const MpirunLine& line, Place at) {
    const bool in_image = t_.job.has({"container", "image"}) && !t_.input.foreign.no_container;
    for (const PlacedText& name : line.passed) {
      const auto& env = launcher.replicas.env;
      const auto own = std::find_if(env.begin(), env.end(),
                                    [&](const EnvVariable& v) { return v.name == name.text; });
      if (own != env.end()) {
        t_.job.text({"env", name.text}, own->value, own->place);
      } else if (!in_image) {
        t_.pass_on(name);
      }
    }
    for (const EnvVariable& variable : line.env)
      t_.job.text({"env", variable.name}, variable.value, variable.place);
    std::string ignored;
    for (const std::string& option : line.ignored)
      ignored += (ignored.empty() ? "" : ", ") + option;
    if (!ignored.empty())
      t_.note_at(at,
                 "options of mpirun that are not used, as dlaunch starts the ranks: " + ignored);
  }

  Translation& t_;
  ForeignKeys& spec_;
};

}  // namespace

void translate_mpi_job(Translation& translation, ForeignKeys& spec) {
  MpiJob(translation, spec).translate();
}

}  // namespace dlaunch::spec::kubeflow
