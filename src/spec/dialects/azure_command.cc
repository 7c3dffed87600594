// A command job of Azure ML -> a native job file.
#include <algorithm>
#include <utility>

#include "model/environment.h"
#include "spec/dialects/azure_v2.h"
#include "spec/dialects/container_keys.h"
#include "spec/dialects/paths.h"
#include "spec/dialects/replicas.h"
#include "spec/dialects/started_programs.h"
#include "spec/expectation.h"
#include "spec/nearest.h"
#include "spec/shell_quote.h"

namespace dlaunch::spec::azure {

namespace {

/// "Azure ML sets MASTER_PORT": the port that its PyTorch jobs meet at.
constexpr std::int64_t kMasterPort = 6105;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

class CommandTranslator {
 public:
  CommandTranslator(Translation& translation, const CommandJob& job)
      : t_(translation),
        job_(job),
        keys_(t_.document, t_.diagnostics, Spelling::exact, job.keys, "") {}

  void translate() {
    t_.job.text({"shell"}, "bash", keys_.place());
    read_name();
    read_resources();
    read_command();
    read_distribution();
    read_code();
    read_environment();
    read_variables();
    read_limits();
    read_rest();
  }

 private:
  /// Comes first, so that it is seen what is run. A name that is made of expressions is none.
  void read_name() {
    for (const char* name : {"name", "display_name", "experiment_name"}) {
      const auto text = keys_.text(name);
      if (!text || t_.job.has({"name"}) || text->text.find("${{") != std::string::npos) continue;
      t_.job.text({"name"}, text->text, text->place);
    }
  }

  void read_resources() {
    ForeignKeys resources = keys_.mapping("resources");
    if (const auto count = resources.integer("instance_count", 1)) {
      nodes_ = *count;
    } else {
      nodes_ = {1, resources.is_given() ? resources.place() : keys_.place()};
    }
    are_nodes_told_ = nodes_of_command_line(t_).has_value();
    nodes_.value = nodes_of_command_line(t_).value_or(nodes_.value);
    shm_size_ = resources.text("shm_size");
    docker_args_ = resources.text("docker_args");
    // It may be a list of sizes, of which the service takes one.
    if (const auto size = scalar_of(t_.document, resources.node(), "instance_type");
        size && resources.is_given())
      t_.azure_size = *size;
    for (const PlacedText& key : resources.given_of(
             {"instance_type", "locations", "max_instance_count", "properties", "gpu_count"}))
      t_.not_used.push_back(key);
    resources.refuse_others();
  }

  void read_command() {
    bindings_ = read_bindings(t_, job_);
    const auto command = keys_.text("command");
    if (!command) {
      if (!keys_.find("command") && !keys_.is_misspelt("command"))  // else it is or will be said
        t_.diagnostics.error(keys_.place(), "there is no command to run");
      return;
    }
    const std::string text = resolve_command(t_, *command, bindings_);
    t_.job.text({"command"}, text, command->place);
    command_ = PlacedText{text, command->place};
    note_split_lines();
    make_outputs();
  }

  /// "folded scalars with deeper-indented continuation lines keep their newlines": a line of
  /// options is then a command of its own.
  void note_split_lines() {
    const std::string_view text = command_.text;
    for (auto end = text.find('\n'); end != std::string_view::npos;
         end = text.find('\n', end + 1)) {
      const auto first = std::min(text.find_first_not_of(" \t", end + 1), text.size());
      if (text.substr(first, 2) != "--" || (end > 0 && text[end - 1] == '\\')) continue;
      const auto option = text.substr(first, text.find_first_of(" \t\n=", first) - first);
      t_.note_at(command_.place,
                 "the command has a line that begins with " + in_quotes(std::string(option)) +
                     ", which the shell takes for a command of its own: in a folded text (>) all "
                     "lines must be indented alike");
      return;
    }
  }

  /// The service makes the folders of outputs before the job starts.
  void make_outputs() {
    std::string line;
    for (const Binding& output : bindings_.outputs) {
      const std::string folder = output.is_file ? path_below(*output.value, "..") : *output.value;
      line += ' ' + shell_quote(folder);
    }
    if (!line.empty()) add_setup("mkdir -p" + line, bindings_.outputs.front().place);
  }

  void add_setup(const std::string& line, Place at) {
    setup_ += (setup_.empty() ? "" : "\n") + line;
    t_.job.text({"setup"}, setup_, at);
  }

  void read_distribution() {
    ForeignKeys distribution = keys_.mapping("distribution");
    const auto type = distribution.text("type");
    if (!distribution.is_given()) return one_process();
    if (!type) {
      if (!distribution.is_misspelt("type"))
        t_.diagnostics.error(distribution.place(),
                             "distribution needs a type: pytorch, mpi or tensorflow");
      distribution.skip({"process_count_per_instance", "process_count", "worker_count",
                         "parameter_server_count"});
      distribution.refuse_others();
      return;
    }
    const std::string kind = lower(type->text);
    if (kind == "pytorch" || kind == "torch.distributed") return pytorch(distribution, *type);
    if (kind == "mpi") return mpi(distribution, *type);
    if (kind == "tensorflow") return tensorflow(distribution, *type);
    const std::string advice = "; dlaunch starts pytorch, mpi and tensorflow";
    t_.diagnostics.error(
        type->place, (kind == "ray" ? "distribution.type: ray starts a cluster of "
                                      "its own, which dlaunch does not do"
                                    : "unknown distribution.type " + in_quotes(type->text) +
                                          did_you_mean(kind, {"pytorch", "mpi", "tensorflow"})) +
                         advice);
  }

  /// "distribution absent means a plain single command". What the service does with more than one
  /// node then is not documented.
  void one_process() {
    t_.job.text({"framework"}, "none", keys_.place());
    if (nodes_.value > 1 && !are_nodes_told_) {
      t_.note_at(nodes_.place,
                 "there is no distribution, so the command runs once, on one node of " +
                     std::to_string(nodes_.value));
      nodes_.value = 1;
    }
    t_.job.number({"nodes"}, nodes_.value, nodes_.place);
    t_.job.number({"processes_per_node"}, 1, nodes_.place);
  }

  void refuse_keys(ForeignKeys& distribution, const std::string& kind,
                   std::initializer_list<std::string_view> wrong, const std::string& right) {
    for (const PlacedText& key : distribution.given_of(wrong)) {
      t_.diagnostics.error(key.place,
                           key.text + " does not go with type: " + kind + "; it has " + right);
    }
    distribution.refuse_others();
  }

  /// process_count_per_instance, or process_count of the preview of 2021: of all nodes together.
  std::int64_t processes_per_node(ForeignKeys& distribution, bool& is_given) {
    const auto per_node = distribution.integer("process_count_per_instance", 1);
    const auto total = distribution.integer("process_count", 1);
    is_given = per_node || total;
    if (per_node || !total) {
      place_of_count_ = per_node ? per_node->place : distribution.place();
      return per_node ? per_node->value : 1;
    }
    place_of_count_ = total->place;
    if (total->value % nodes_.value != 0) {
      t_.diagnostics.error(total->place, "process_count " + std::to_string(total->value) +
                                             " is of all nodes together, and is not a multiple of "
                                             "instance_count " +
                                             std::to_string(nodes_.value));
      return 1;
    }
    t_.note_at(total->place, "process_count is of all nodes together");
    return total->value / nodes_.value;
  }

  void set_size(std::int64_t per_node) {
    t_.job.number({"nodes"}, nodes_.value, nodes_.place);
    t_.job.number({"processes_per_node"}, per_node, place_of_count_);
  }

  void pytorch(ForeignKeys& distribution, const PlacedText& type) {
    bool is_given = false;
    const std::int64_t per_node = processes_per_node(distribution, is_given);
    refuse_keys(distribution, "pytorch", {"worker_count", "parameter_server_count"},
                "process_count_per_instance");
    t_.job.text({"framework"}, "pytorch", type.place);
    t_.job.number({"rendezvous", "port"}, kMasterPort, type.place);
    if (per_node == 1 && starts_own_workers(command_.text)) {
      t_.job.text({"launch"}, "per-node", command_.place);
      t_.job.number({"nodes"}, nodes_.value, nodes_.place);
      add_setup("export WORLD_SIZE=" + std::to_string(nodes_.value), nodes_.place);
      return;
    }
    set_size(per_node);
    if (!is_given && nodes_.value > 1) {
      t_.note_at(distribution.place(),
                 "no process_count_per_instance means 1; for a program that starts its own "
                 "workers on each node: --set launch=per-node");
    }
  }

  void mpi(ForeignKeys& distribution, const PlacedText& type) {
    bool is_given = false;
    const std::int64_t per_node = processes_per_node(distribution, is_given);
    refuse_keys(distribution, "mpi", {"worker_count", "parameter_server_count"},
                "process_count_per_instance");
    t_.job.text({"framework"}, "mpi", type.place);
    // The service starts them by mpirun, which does not mind: many only read OMPI_COMM_WORLD_*.
    t_.job.text({"mpi", "init"}, "optional", type.place);
    set_size(per_node);
    const std::string_view first = started_program(
        command_.text, {"mpirun", "mpiexec", "mpiexec.hydra", "horovodrun", "deepspeed"});
    if (!first.empty()) {
      t_.diagnostics.error(command_.place,
                           "with distribution.type: mpi the processes are started "
                           "for the command, which must be the program without " +
                               std::string(first));
    }
  }

  void tensorflow(ForeignKeys& distribution, const PlacedText& type) {
    const auto workers = distribution.integer("worker_count", 1);
    const auto servers = distribution.integer("parameter_server_count");
    refuse_keys(distribution, "tensorflow", {"process_count_per_instance", "process_count"},
                "worker_count and parameter_server_count");
    t_.job.text({"framework"}, "tensorflow", type.place);
    const std::int64_t count = workers ? workers->value : nodes_.value;
    const std::int64_t tasks = count + (servers ? servers->value : 0);
    t_.job.number({"nodes"}, std::min(nodes_.value, tasks), nodes_.place);
    if (tasks < nodes_.value) {
      t_.note_at(nodes_.place, std::to_string(tasks) + (tasks == 1 ? " task" : " tasks") +
                                   " of TensorFlow, so instance_count counts as " +
                                   std::to_string(tasks));
      if (!are_nodes_told_) nodes_.value = tasks;
    }
    t_.job.number({"roles", "worker"}, count, workers ? workers->place : nodes_.place);
    if (servers && servers->value > 0)
      t_.job.number({"roles", "ps"}, servers->value, servers->place);
  }

  /// A path, or {local_path: ...} and {directory: ...} of previews.
  void read_code() {
    auto code = keys_.find("code");
    if (!code) return;
    Place at = place_of(t_.document, *code);
    std::optional<std::string> text;
    const Node& node = t_.document[code->value];
    if (node.kind == NodeKind::scalar) text = node.text;
    for (const char* name : {"local_path", "directory"}) {
      if (text) break;
      text = scalar_of(t_.document, code->value, name);
      if (const auto value = value_of(t_.document, code->value, name))
        at = t_.document[*value].place;
    }
    if (!text) {
      t_.diagnostics.error(at, "code must be a folder, not " + found_instead(node));
      return;
    }
    if (const auto folder = local_path(t_, job_, *text, at)) {
      t_.job.text({"workdir"}, *folder, at);
    } else {
      t_.diagnostics.error(at, "code is " + in_quotes(*text) +
                                   ", which dlaunch cannot fetch; write a folder of this machine");
    }
  }

  void read_environment() {
    read_image();
    if (t_.job.has({"container", "image"})) return;
    if (shm_size_) t_.not_used.push_back({"resources.shm_size", shm_size_->place});
    if (docker_args_) t_.not_used.push_back({"resources.docker_args", docker_args_->place});
  }

  void read_image() {
    const auto environment = keys_.find("environment");
    if (!environment) return;
    const Place at = place_of(t_.document, *environment);
    const Node& node = t_.document[environment->value];
    if (node.kind == NodeKind::scalar) {
      t_.note_at(at, "the environment " + in_quotes(node.text) +
                         " is not made here: what is installed on the nodes is used");
      return;
    }
    const auto image = scalar_of(t_.document, environment->value, "image");
    const auto image_node = value_of(t_.document, environment->value, "image");
    if (!image || !image_node) {
      t_.note_at(at, "the environment is not made here: what is installed on the nodes is used");
      return;
    }
    const Place where = t_.document[*image_node].place;
    t_.job.text({"container", "image"}, *image, where);
    if (value_of(t_.document, environment->value, "conda_file"))
      t_.note_at(at, "conda_file is not installed into the image");
    if (shm_size_) t_.job.text({"container", "shm_size"}, shm_size_->text, shm_size_->place);
    std::vector<PlacedText> mounts = data_mounts();
    if (docker_args_) read_docker_arguments(t_, {"container"}, *docker_args_, mounts);
    t_.job.texts({"container", "mounts"}, mounts, where);
  }

  /// What the command reads and writes has the same path inside; the workdir is there anyway. The
  /// folder of an output is made by the job itself, so what is above it is mounted.
  [[nodiscard]] std::vector<PlacedText> data_mounts() const {
    std::vector<PlacedText> mounts;
    const auto add = [&](const std::string& path, Place at) {
      const bool is_there = std::any_of(mounts.begin(), mounts.end(),
                                        [&](const PlacedText& one) { return one.text == path; });
      if (!is_there && path.find(':') == std::string::npos) mounts.push_back({path, at});
    };
    for (const Binding& input : bindings_.inputs) {
      if (input.is_path && input.value) add(*input.value, input.place);
    }
    const std::string& here = t_.input.foreign.current_folder;
    for (const Binding& output : bindings_.outputs)
      add(output.value->starts_with(here + '/') ? here : *output.value, output.place);
    return mounts;
  }

  void read_variables() {
    ForeignKeys variables = keys_.mapping("environment_variables");
    for (const ForeignKey& key : variables.all()) {
      const Node& node = t_.document[key.value];
      if (node.kind != NodeKind::scalar && node.kind != NodeKind::null) {
        t_.diagnostics.error(key.key, "the variable " + in_quotes(key.name) +
                                          " must have a text, not " + found_instead(node));
        continue;
      }
      const PlacedText value{node.text, place_of(t_.document, key)};
      t_.job.text({"env", key.name}, resolve_command(t_, value, bindings_), value.place);
    }
    // What the service itself sets; the user's own win.
    const auto add = [&](const std::string& name, const std::string& value, Place at) {
      if (is_variable_name(name) && !t_.job.has({"env", name}))
        t_.job.text({"env", name}, value, at);
    };
    add("AZUREML_NODE_COUNT", std::to_string(nodes_.value), nodes_.place);
    for (const Binding& input : bindings_.inputs) {
      if (input.value) add("AZURE_ML_INPUT_" + input.name, *input.value, input.place);
    }
    for (const Binding& output : bindings_.outputs)
      add("AZURE_ML_OUTPUT_" + output.name, *output.value, output.place);
  }

  void read_limits() {
    ForeignKeys limits = keys_.mapping("limits");
    constexpr std::int64_t kMostSeconds = 3'000'000'000;
    if (const auto timeout = limits.integer("timeout", 1, kMostSeconds))
      t_.job.text({"timeouts", "run"}, std::to_string(timeout->value) + "s", timeout->place);
    limits.refuse_others();
  }

  void read_rest() {
    if (const auto compute = keys_.text("compute");
        compute && compute->text != "local" && compute->text != "azureml:local")
      t_.not_used.push_back({"compute", compute->place});
    for (const PlacedText& key :
         keys_.given_of({"identity", "services", "queue_settings", "parent_job_name",
                         "retry_settings", "schedule", "additional_includes"}))
      t_.not_used.push_back(key);
    keys_.skip({"$schema", "type", "description", "tags", "properties", "inputs", "outputs",
                "component", "version", "is_deterministic", "id", "meta", "stage", "status",
                "creation_context", "intellectual_property", "successful_return_code"});
    keys_.refuse_others();
  }

  Translation& t_;
  const CommandJob& job_;
  ForeignKeys keys_;
  Bindings bindings_;
  PlacedNumber nodes_{1, {}};
  bool are_nodes_told_ = false;  // by the command line
  Place place_of_count_;
  PlacedText command_;
  std::string setup_;
  std::optional<PlacedText> shm_size_;
  std::optional<PlacedText> docker_args_;
};

}  // namespace

void translate_command(Translation& translation, const CommandJob& job) {
  CommandTranslator(translation, job).translate();
}

}  // namespace dlaunch::spec::azure
