// Run configurations of the Azure ML SDK v1: *.runconfig files (YAML), and JSON of the service.
// Rules: azureml.core.runconfig (RunConfiguration, MpiConfiguration, PyTorchConfiguration,
// TensorflowConfiguration).
#include <algorithm>
#include <string_view>

#include "jobfile/dialects/azure_v2.h"
#include "jobfile/dialects/dialect.h"
#include "jobfile/dialects/paths.h"
#include "jobfile/dialects/replicas.h"
#include "jobfile/dialects/shell_words.h"
#include "jobfile/expectation.h"
#include "jobfile/suggestion.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

constexpr std::int64_t kMasterPort = 6105;

constexpr KeyName kKeyNames[] = {{"env", "environmentVariables"},
                                 {"container.image", "docker.baseImage"},
                                 {"container.shm_size", "docker.shmSize"},
                                 {"container.mounts", "docker.arguments"},
                                 {"timeouts.run", "maxRunDurationSeconds"},
                                 {"roles.worker", "tensorflow.workerCount"},
                                 {"roles.ps", "tensorflow.parameterServerCount"},
                                 {"nodes", "nodeCount"},
                                 {"framework", "communicator"}};

/// The service's JSON has the whole configuration under "Configuration".
NodeId configuration(const Document& document, NodeId root) {
  const auto inside = value_of(document, root, "configuration", Spelling::loose);
  return inside && document[*inside].kind == NodeKind::mapping ? *inside : root;
}

std::string why_not_v1(const Document& document, NodeId root) {
  const NodeId keys = configuration(document, root);
  const auto has = [&](const char* key) {
    return value_of(document, keys, key, Spelling::loose).has_value();
  };
  const bool runs = has("script") || has("command") || has("argumentVector");
  if (has("communicator") && runs) return "";
  if (has("argumentVector") && (has("target") || has("framework"))) return "";
  // "communicator: None" is the SDK's default, so a file may omit the key.
  if (has("script") && (has("nodeCount") || (has("target") && has("history")))) return "";
  return "no script with communicator or nodeCount";
}

class RunConfiguration {
 public:
  explicit RunConfiguration(Translation& translation)
      : t_(translation),
        keys_(t_.document, t_.diagnostics, Spelling::loose, configuration(t_.document, t_.root),
              "") {}

  void translate() {
    read_environment();
    read_command();
    read_size();
    if (!t_.job.has({"env", "AZUREML_NODE_COUNT"}))
      t_.job.text({"env", "AZUREML_NODE_COUNT"}, std::to_string(nodes_.value), nodes_.range);
    read_data();
    if (image_) t_.job.texts({"container", "mounts"}, mounts_, image_->range);
    if (const auto limit = positive(keys_, "maxRunDurationSeconds"))
      t_.job.text({"timeouts", "run"}, std::to_string(limit->value) + "s", limit->range);
    if (const auto target = keys_.text("target");
        target && lower(target->text) != "local" && !target->text.empty())
      t_.not_used.push_back({"target", target->range});
    // Saved files have many keys without a meaning in dlaunch, so only a key that resembles a known
    // one is a mistake.
    keys_.skip({"history", "spark", "hdi", "data", "datacaches", "outputData", "amlcompute",
                "identity", "priority", "jobName", "sourceDirectoryDataStore"});
    keys_.refuse_misspelt();
  }

 private:
  /// "JSON payloads can hold 0 for unused counts": 0 is treated as absent.
  static std::optional<LocatedNumber> positive(ForeignKeys& keys, std::string_view name) {
    const auto number = keys.integer(name);
    return number && number->value > 0 ? number : std::nullopt;
  }

  /// Reads the command. A text runs as written; separate words are quoted, except for $NAME.
  void read_command() {
    t_.job.text({"shell"}, "bash", keys_.range());
    const auto command = keys_.find("command");
    if (command && !is_empty(command->value)) {
      const Node& node = t_.document[command->value];
      if (node.kind == NodeKind::scalar) return put(node.text, range_of(t_.document, *command));
      std::string line;
      for (const LocatedText& word : keys_.texts("command"))
        line += (line.empty() ? "" : " ") + quote_but_variables(word.text);
      return put(line, command->key);
    }
    if (keys_.find("argumentVector")) {
      const auto words = keys_.texts("argumentVector");
      if (refuse_workbench(words)) return;
      return put_script(words.empty() ? LocatedText() : words.front(),
                        words.empty() ? words : std::vector(words.begin() + 1, words.end()));
    }
    const auto script = keys_.text("script");
    if (!script || script->text.empty()) {
      if (!keys_.has_mistake("script") && !keys_.has_mistake("command"))
        t_.diagnostics.error(keys_.range(), "the run configuration has no script and no command");
      return;
    }
    put_script(*script, keys_.texts("arguments"));
  }

  /// Refuses a file of Azure ML Workbench (2017 to 2019), which replaced $file with the script of
  /// its command line.
  bool refuse_workbench(const std::vector<LocatedText>& words) {
    const auto file = std::find_if(words.begin(), words.end(),
                                   [](const LocatedText& word) { return word.text == "$file"; });
    if (file == words.end()) return false;
    t_.diagnostics.error(file->range,
                         "this is a run configuration of Azure ML Workbench, which took the script "
                         "from its command line; dlaunch does not read such files. Replace $file "
                         "with the script, or run without the file: dlaunch run -n 1 -- python "
                         "train.py");
    return true;
  }

  void put_script(const LocatedText& script, const std::vector<LocatedText>& arguments) {
    std::string line = quote_but_variables(interpreter_) + ' ' + quote_but_variables(script.text);
    for (const LocatedText& argument : arguments) line += ' ' + quote_but_variables(argument.text);
    put(line, script.range);
  }

  void put(const std::string& line, SourceRange at) {
    command_ = {line, at};
    t_.job.text({"command"}, line, at);
  }

  [[nodiscard]] bool is_empty(NodeId id) const {
    const Node& node = t_.document[id];
    return node.kind == NodeKind::scalar ? node.text.empty() : node.items.empty();
  }

  void read_size() {
    const auto framework = keys_.text("framework");
    const auto communicator = keys_.text("communicator");
    const std::string kind = communicator ? lower(communicator->text) : "none";
    ForeignKeys pytorch = keys_.mapping("pytorch");
    nodes_ = positive(keys_, "nodeCount").value_or(LocatedNumber{0, keys_.range()});
    if (const auto count = positive(pytorch, "nodeCount"); count && nodes_.value == 0)
      nodes_ = *count;
    if (nodes_.value == 0) nodes_.value = 1;
    nodes_.value = nodes_of_command_line(t_).value_or(nodes_.value);
    const SourceRange at = communicator ? communicator->range : keys_.range();
    if (kind == "none" || kind.empty()) return single(at);
    if (kind == "parameterserver") return parameter_server(at);
    if (kind == "openmpi" || kind == "intelmpi" || kind == "mpi") return mpi(at);
    if (kind == "nccl" || kind == "gloo") return torch(pytorch, at);
    if (kind == "paralleltask") return parallel_task(at);
    const std::vector<std::string_view> known{
        "None", "ParameterServer", "OpenMpi", "IntelMpi", "Nccl", "Gloo", "ParallelTask"};
    t_.diagnostics.error(at, "unknown communicator " + in_quotes(communicator->text) +
                                 did_you_mean(communicator->text, known) +
                                 "; dlaunch knows None, ParameterServer, OpenMpi, IntelMpi, Nccl, "
                                 "Gloo and ParallelTask");
  }

  void single(SourceRange at) {
    t_.job.text({"framework"}, "none", at);
    if (nodes_.value > 1 && !nodes_of_command_line(t_)) {
      t_.note_at(nodes_.range, "there is no communicator, so the script runs once, on one of " +
                                   std::to_string(nodes_.value) + " nodes");
      nodes_.value = 1;
    }
    set_nodes(nodes_.value, 1, at);
  }

  void set_nodes(std::int64_t nodes, std::int64_t per_node, SourceRange at) {
    t_.job.number({"nodes"}, nodes, nodes_.range);
    t_.job.number({"processes_per_node"}, per_node, at);
  }

  /// "nodeCount = workerCount": parameter servers add no nodes. Their default number is one.
  void parameter_server(SourceRange at) {
    ForeignKeys tensorflow = keys_.mapping("tensorflow");
    const auto workers = positive(tensorflow, "workerCount");
    const auto servers = tensorflow.integer("parameterServerCount");
    tensorflow.refuse_others();
    const std::int64_t count = workers ? workers->value : nodes_.value;
    t_.job.text({"framework"}, "tensorflow", at);
    t_.job.number({"nodes"}, count, workers ? workers->range : nodes_.range);
    if (!nodes_of_command_line(t_)) nodes_.value = count;
    t_.job.number({"roles", "worker"}, count, workers ? workers->range : nodes_.range);
    const std::int64_t ps = servers ? servers->value : 1;
    if (ps > 0) t_.job.number({"roles", "ps"}, ps, servers ? servers->range : at);
  }

  void mpi(SourceRange at) {
    ForeignKeys mpi = keys_.mapping("mpi");
    const auto per_node = positive(mpi, "processCountPerNode");
    mpi.skip({"nodeCount"});
    mpi.refuse_others();
    t_.job.text({"framework"}, "mpi", at);
    t_.job.text({"mpi", "init"}, "optional", at);  // as in azure_command.cc
    set_nodes(nodes_.value, per_node ? per_node->value : 1, per_node ? per_node->range : at);
  }

  /// Reads processCount, the total over all nodes; the default is one per node.
  void torch(ForeignKeys& pytorch, SourceRange at) {
    const auto total = positive(pytorch, "processCount");
    pytorch.skip({"communicationBackend", "nodeCount"});
    pytorch.refuse_others();
    const std::int64_t count = total ? total->value : nodes_.value;
    if (count % nodes_.value != 0)
      return t_.diagnostics.error(
          total->range, "processCount " + std::to_string(count) +
                            " is the total of all nodes, but not a multiple of nodeCount " +
                            std::to_string(nodes_.value));
    t_.job.text({"framework"}, "pytorch", at);
    t_.job.number({"rendezvous", "port"}, kMasterPort, at);
    const std::int64_t per_node = count / nodes_.value;
    const azure::ProcessCount processes{per_node, total.has_value(), total ? total->range : at,
                                        "processCount"};
    if (azure::is_per_node(t_, command_, processes)) {
      t_.job.text({"launch"}, "per-node", command_.range);
      t_.job.number({"nodes"}, nodes_.value, nodes_.range);
      t_.job.text({"setup"}, "export WORLD_SIZE=" + std::to_string(nodes_.value), nodes_.range);
      return;
    }
    set_nodes(nodes_.value, per_node, total ? total->range : at);
  }

  void parallel_task(SourceRange at) {
    ForeignKeys task = keys_.mapping("paralleltask");
    const auto workers = positive(task, "workerCountPerNode");
    t_.job.text({"framework"}, "none", at);
    set_nodes(nodes_.value, workers ? workers->value : 1, workers ? workers->range : at);
  }

  void read_environment() {
    ForeignKeys environment = keys_.mapping("environment");
    ForeignKeys variables = environment.mapping("environmentVariables");
    if (!variables.is_given()) variables = keys_.mapping("environmentVariables");
    for (const ForeignKey& key : variables.all()) {
      const Node& node = t_.document[key.value];
      if (node.kind == NodeKind::scalar || node.kind == NodeKind::null) {
        const std::string value = node.text;
        t_.job.text({"env", key.name}, value, range_of(t_.document, key));
      } else {
        t_.diagnostics.error(key.key, "the value of the variable " + in_quotes(key.name) +
                                          " must be text, not " + found_instead(node));
      }
    }
    ForeignKeys python = environment.mapping("python");
    if (const auto path = python.text("interpreterPath"); path && !path->text.empty())
      interpreter_ = path->text;
    ForeignKeys inner = environment.mapping("docker");
    ForeignKeys outer = keys_.mapping("docker");
    const bool used = inner.is_true("enabled") || outer.is_true("useDocker");
    const auto image = inner.text("baseImage");
    if (!used || !image || image->text.empty()) return;
    t_.job.text({"container", "image"}, image->text, image->range);
    image_ = image;
    for (ForeignKeys* keys : {&inner, &outer}) {
      if (const auto size = keys->text("shmSize"); size && !size->text.empty())
        t_.job.text({"container", "shm_size"}, size->text, size->range);
      LocatedText all;
      for (const LocatedText& argument : keys->texts("arguments"))
        all = {all.text + ' ' + argument.text, argument.range};
      azure::read_docker_arguments(t_, {"container"}, all, mounts_);
    }
  }

  /// Reads data references: each is a folder, and a variable tells the script its path.
  void read_data() {
    std::vector<std::string> names;
    for (const ForeignKey& reference : keys_.mapping("dataReferences").all()) {
      names.push_back(reference.name);
      const auto& given = t_.input.foreign.inputs;
      const auto value = std::find_if(given.begin(), given.end(), [&](const NamedValue& one) {
        return one.name == reference.name;
      });
      if (value == given.end()) {
        t_.note_at(reference.key, "the data of " + reference.name +
                                      " is not fetched; if it is needed: --input " +
                                      reference.name + "=./dir");
        continue;
      }
      give_data(reference, *value);
    }
    for (const NamedValue& given : t_.input.foreign.inputs) {
      if (contains(names, given.name)) continue;
      t_.diagnostics.error(azure::add_source(t_, given),
                           "the run configuration has no data reference " + in_quotes(given.name));
    }
  }

  /// Gives the job a data reference. In a container the data keeps its path.
  void give_data(const ForeignKey& reference, const NamedValue& given) {
    if (is_remote(given.value))
      return t_.diagnostics.error(azure::add_source(t_, given),
                                  "dlaunch cannot fetch remote data; give a local file or folder");
    if (const std::string problem = problem_of_path(given.value); !problem.empty()) {
      t_.diagnostics.error(azure::add_source(t_, given), "the value is " + problem);
      return;
    }
    const std::string path =
        path_below(t_.input.foreign.current_folder, without_file_scheme(given.value));
    t_.job.text({"env", "AZUREML_DATAREFERENCE_" + reference.name}, path, reference.key);
    if (path.find(':') == std::string::npos) mounts_.push_back({path, reference.key});
  }

  Translation& t_;
  ForeignKeys keys_;
  std::optional<LocatedText> image_;
  std::vector<LocatedText> mounts_;
  LocatedNumber nodes_{1, {}};
  LocatedText command_;
  std::string interpreter_ = "python";
};

}  // namespace

const Dialect kAzureV1{.name = "Azure ML, SDK v1 run configuration",
                       .why_not = why_not_v1,
                       .translate = [](Translation& t) { RunConfiguration(t).translate(); },
                       .has_inputs = true,
                       .own_key = "communicator",
                       .key_names = kKeyNames};

}  // namespace dlaunch::jobfile
