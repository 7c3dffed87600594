// Translates a command job of Azure ML into a native job file.
#include <algorithm>
#include <utility>

#include "jobfile/dialects/azure_v2.h"
#include "jobfile/dialects/paths.h"
#include "jobfile/dialects/replicas.h"
#include "jobfile/expectation.h"
#include "jobfile/scalar.h"
#include "jobfile/shell_quote.h"
#include "model/environment.h"
#include "text/strings.h"

namespace dlaunch::jobfile::azure {

namespace {

class CommandTranslator {
 public:
  CommandTranslator(Translation& translation, const CommandJob& job)
      : t_(translation),
        job_(job),
        keys_(t_.document, t_.diagnostics, Spelling::exact, job.keys, "") {}

  void translate() {
    t_.job.text({"shell"}, "bash", keys_.range());
    read_name();
    read_resources();
    read_command();
    translate_distribution(t_, keys_, command_, size_);
    if (!size_.setup.empty()) add_setup(size_.setup, size_.nodes.range);
    read_code();
    read_environment();
    read_variables();
    read_limits();
    read_rest();
  }

 private:
  /// The name is read first, so that notes can use it. A name with an expression is ignored.
  void read_name() {
    for (const char* name : {"name", "display_name", "experiment_name"}) {
      const auto text = keys_.text(name);
      if (!text || t_.job.has({"name"}) || text->text.find("${{") != std::string::npos) continue;
      t_.job.text({"name"}, text->text, text->range);
    }
  }

  void read_resources() {
    ForeignKeys resources = keys_.mapping("resources");
    size_.nodes = {1, resources.is_given() ? resources.range() : keys_.range()};
    read_compute();
    if (const auto count = resources.integer("instance_count", 1)) size_.nodes = *count;
    size_.is_told = nodes_of_command_line(t_).has_value();
    size_.nodes.value = nodes_of_command_line(t_).value_or(size_.nodes.value);
    shm_size_ = resources.text("shm_size");
    docker_args_ = resources.text("docker_args");
    // The key may hold a list of sizes, of which the service takes one.
    if (const auto size = scalar_of(t_.document, resources.node(), "instance_type");
        size && resources.is_given())
      t_.azure_size = *size;
    for (const LocatedText& key : resources.given_of(
             {"instance_type", "locations", "max_instance_count", "properties", "gpu_count"}))
      t_.not_used.push_back(key);
    resources.refuse_others();
  }

  /// Reads the target: a name or, until 2021, {target: NAME, instance_count: 2, instance_type:
  /// ...}.
  void read_compute() {
    const auto compute = keys_.find("compute");
    if (!compute) return;
    std::optional<LocatedText> target;
    if (t_.document[compute->value].kind == NodeKind::mapping) {
      ForeignKeys keys = keys_.mapping("compute");
      target = keys.text("target");
      for (const char* name : {"node_count", "instance_count"})
        if (const auto count = keys.integer(name, 1)) size_.nodes = *count;
      if (const auto size = keys.text("instance_type")) {
        t_.azure_size = size->text;
        t_.not_used.push_back({"compute.instance_type", size->range});
      }
      keys.skip({"cluster", "location", "properties"});
      keys.refuse_others();
    } else {
      target = keys_.text("compute");
    }
    if (target && target->text != "local" && target->text != "azureml:local")
      t_.not_used.push_back({"compute", target->range});
  }

  void read_command() {
    bindings_ = read_bindings(t_, job_);
    const auto command = keys_.text("command");
    if (!command) {
      if (!keys_.find("command") && !keys_.has_mistake("command"))
        t_.diagnostics.error(keys_.range(),
                             job_.component.empty()
                                 ? "there is no command to run"
                                 : "there is no command to run, here or in the component " +
                                       in_quotes(job_.component));
      return;
    }
    const std::string text = resolve_command(t_, *command, bindings_);
    t_.job.text({"command"}, text, command->range);
    command_ = LocatedText{text, command->range};
    note_split_lines();
    note_shell_characters(*command);
    make_outputs();
  }

  /// "folded scalars with deeper-indented continuation lines keep their newlines": a line that
  /// holds options then becomes a separate command.
  void note_split_lines() {
    const std::string_view text = command_.text;
    for (auto end = text.find('\n'); end != std::string_view::npos;
         end = text.find('\n', end + 1)) {
      const auto first = std::min(text.find_first_not_of(" \t", end + 1), text.size());
      if (text.substr(first, 2) != "--" || (end > 0 && text[end - 1] == '\\')) continue;
      const auto option = text.substr(first, text.find_first_of(" \t\n=", first) - first);
      t_.note_at(command_.range,
                 "the command has a line that begins with " + in_quotes(std::string(option)) +
                     ", which the shell takes for a separate command: indent all lines of a folded "
                     "text (>) alike");
      return;
    }
  }

  /// Notes values with characters that the shell interprets. The service inserts values into the
  /// command without quotes, and so does dlaunch. The service's paths never contain such
  /// characters, but local paths may.
  void note_shell_characters(const LocatedText& command) {
    constexpr std::string_view kRead = ";&|<>()$`\"'\\*?[]{}~#!\n";
    for (const Binding& input : bindings_.inputs) {
      const bool is_told = t_.sources[input.range.source].is_argument;
      if (!input.value || !(is_told || input.is_path)) continue;
      const std::string& value = *input.value;
      const auto first =
          value.find_first_of(input.is_path ? std::string(kRead) + " \t" : std::string(kRead));
      const bool is_used = command.text.find("inputs." + input.name) != std::string::npos;
      if (first == std::string::npos || !is_used) continue;
      t_.note_at(input.range, "the input " + input.name +
                                  " is put into the command without quotes, as in the service, and "
                                  "the shell interprets the " +
                                  in_quotes(value.substr(first, 1)) + " in it");
    }
  }

  /// Creates the folders of outputs in `setup`, as the service does before the job starts.
  void make_outputs() {
    std::string line;
    for (const Binding& output : bindings_.outputs) {
      const std::string folder = output.is_file ? path_below(*output.value, "..") : *output.value;
      line += ' ' + shell_quote(folder);
    }
    if (!line.empty()) add_setup("mkdir -p" + line, bindings_.outputs.front().range);
  }

  void add_setup(const std::string& line, SourceRange at) {
    setup_ += (setup_.empty() ? "" : "\n") + line;
    t_.job.text({"setup"}, setup_, at);
  }

  /// The text with its expressions replaced; nullopt: an expression is wrong; this was reported.
  std::optional<std::string> resolved(const LocatedText& text) {
    const std::size_t before = t_.diagnostics.count();
    std::string out = resolve_command(t_, text, bindings_);
    return t_.diagnostics.count() == before ? std::optional(std::move(out)) : std::nullopt;
  }

  /// Reads a path, or {local_path: ...} and {directory: ...} of preview versions.
  void read_code() {
    auto code = keys_.find("code");
    if (!code) return;
    SourceRange at = range_of(t_.document, *code);
    std::optional<std::string> text;
    const Node& node = t_.document[code->value];
    if (node.kind == NodeKind::scalar) text = node.text;
    for (const char* name : {"local_path", "directory"}) {
      if (text) break;
      text = scalar_of(t_.document, code->value, name);
      if (const auto value = value_of(t_.document, code->value, name))
        at = t_.document[*value].range;
    }
    if (!text) return t_.diagnostics.error(at, "code must be a folder, not " + found_instead(node));
    text = resolved({*text, at});
    if (!text) return;
    if (const std::string problem = problem_of_path(*text); !problem.empty())
      return t_.diagnostics.error(at, "code is " + problem);
    if (const auto folder = local_path(t_, job_, *text, at)) {
      t_.job.text({"workdir"}, *folder, at);
    } else {
      t_.diagnostics.error(
          at, "code is " + in_quotes(*text) + ", which dlaunch cannot fetch; use a local folder");
    }
  }

  void read_environment() {
    read_image();
    if (t_.job.has({"container", "image"})) return;
    if (shm_size_) t_.not_used.push_back({"resources.shm_size", shm_size_->range});
    if (docker_args_) t_.not_used.push_back({"resources.docker_args", docker_args_->range});
  }

  void read_image() {
    const auto environment = keys_.find("environment");
    if (!environment) return;
    const SourceRange at = range_of(t_.document, *environment);
    const Node& node = t_.document[environment->value];
    if (node.kind == NodeKind::scalar)
      return t_.note_at(at, "the environment " + in_quotes(node.text) +
                                " is not created: the software installed on the nodes is used");
    // Until 2021 the form was {docker: {image: ...}}.
    const auto docker = value_of(t_.document, environment->value, "docker");
    const bool is_inside = docker && !value_of(t_.document, environment->value, "image");
    const NodeId holder = is_inside ? *docker : environment->value;
    const auto image = scalar_of(t_.document, holder, "image");
    const auto image_node = value_of(t_.document, holder, "image");
    if (!image || !image_node)
      return t_.note_at(
          at, "the environment is not created: the software installed on the nodes is used");
    const SourceRange where = t_.document[*image_node].range;
    const auto name = resolved({*image, where});
    t_.job.text({"container", "image"}, name.value_or(*image), where);
    if (value_of(t_.document, environment->value, "conda_file"))
      t_.note_at(at, "the packages of conda_file are not installed in the image");
    if (const auto size = shm_size_ ? resolved(*shm_size_) : std::nullopt)
      t_.job.text({"container", "shm_size"}, *size, shm_size_->range);
    std::vector<LocatedText> mounts = data_mounts();
    if (const auto arguments = docker_args_ ? resolved(*docker_args_) : std::nullopt)
      read_docker_arguments(t_, {"container"}, {*arguments, docker_args_->range}, mounts);
    t_.job.texts({"container", "mounts"}, mounts, where);
  }

  /// The mounts for inputs and outputs, which have the same path inside the container. The workdir
  /// is mounted anyway. The job creates output folders itself, so this mounts their parents.
  [[nodiscard]] std::vector<LocatedText> data_mounts() const {
    std::vector<LocatedText> mounts;
    const auto add = [&](const std::string& path, SourceRange at) {
      const bool is_there = std::any_of(mounts.begin(), mounts.end(),
                                        [&](const LocatedText& one) { return one.text == path; });
      if (!is_there && !path.empty() && path.find(':') == std::string::npos)
        mounts.push_back({path, at});
    };
    for (const Binding& input : bindings_.inputs) {
      if (input.is_path && input.value) add(*input.value, input.range);
    }
    const std::string& here = t_.input.foreign.current_folder;
    for (const Binding& output : bindings_.outputs)
      add(output.value->starts_with(here + '/') ? here : *output.value, output.range);
    return mounts;
  }

  void read_variables() {
    ForeignKeys variables = keys_.mapping("environment_variables");
    for (const ForeignKey& key : variables.all()) {
      const Node& node = t_.document[key.value];
      if (node.kind != NodeKind::scalar && node.kind != NodeKind::null) {
        t_.diagnostics.error(key.key, "the value of the variable " + in_quotes(key.name) +
                                          " must be text, not " + found_instead(node));
        continue;
      }
      const LocatedText value{node.text, range_of(t_.document, key)};
      t_.job.text({"env", key.name}, resolve_command(t_, value, bindings_), value.range);
    }
    // Variables that the service sets. The user's own variables take precedence.
    const auto add = [&](const std::string& name, const std::string& value, SourceRange at) {
      if (is_variable_name(name) && !t_.job.has({"env", name}))
        t_.job.text({"env", name}, value, at);
    };
    add("AZUREML_NODE_COUNT", std::to_string(size_.nodes.value), size_.nodes.range);
    for (const Binding& input : bindings_.inputs) {
      if (input.value) add("AZURE_ML_INPUT_" + input.name, *input.value, input.range);
    }
    for (const Binding& output : bindings_.outputs)
      add("AZURE_ML_OUTPUT_" + output.name, *output.value, output.range);
  }

  void read_limits() {
    ForeignKeys limits = keys_.mapping("limits");
    constexpr std::int64_t kMostSeconds = 3'000'000'000;
    if (const auto timeout = limits.integer("timeout", 1, kMostSeconds))
      t_.job.text({"timeouts", "run"}, std::to_string(timeout->value) + "s", timeout->range);
    limits.refuse_others();
  }

  void read_rest() {
    for (const LocatedText& key : keys_.given_of({"identity", "services", "queue_settings",
                                                  "parent_job_name", "retry_settings", "schedule",
                                                  "additional_includes", "interaction_endpoints"}))
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
  JobSize size_;
  LocatedText command_;
  std::string setup_;
  std::optional<LocatedText> shm_size_;
  std::optional<LocatedText> docker_args_;
};

}  // namespace

void translate_command(Translation& translation, const CommandJob& job) {
  CommandTranslator(translation, job).translate();
}

void read_docker_arguments(Translation& translation, const NativeJob::Path& path,
                           const LocatedText& arguments, std::vector<LocatedText>& mounts) {
  const std::vector<std::string_view> words = split_words(arguments.text);
  std::string rest;
  const auto set_size = [&](std::string_view text) {
    NativeJob::Path size = path;
    size.emplace_back("shm_size");
    if (parse_size(text)) return translation.job.text(size, std::string(text), arguments.range);
    translation.diagnostics.error(
        arguments.range, "--shm-size must be a size such as 512m or 16g, not " + in_quotes(text));
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const bool is_option = word == "-v" || word == "--volume";
    if (is_option && i + 1 < words.size()) {
      mounts.push_back({std::string(words[++i]), arguments.range});
    } else if (word.starts_with("--volume=")) {
      mounts.push_back({std::string(word.substr(9)), arguments.range});
    } else if (word.starts_with("--shm-size=")) {
      set_size(word.substr(11));
    } else if (word == "--shm-size" && i + 1 < words.size()) {
      set_size(words[++i]);
    } else {
      rest.append(rest.empty() ? "" : " ").append(word);
    }
  }
  if (!rest.empty())
    translation.note_at(arguments.range, "these docker options are not passed on: " + rest);
}

}  // namespace dlaunch::jobfile::azure
