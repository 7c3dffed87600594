// Inputs and outputs of a job: literals stay as written, and data becomes a local path.
#include <algorithm>
#include <utility>

#include "jobfile/dialects/azure_v2.h"
#include "jobfile/dialects/paths.h"
#include "jobfile/expectation.h"
#include "text/strings.h"

namespace dlaunch::jobfile::azure {

namespace {

class BindingReader {
 public:
  BindingReader(Translation& translation, const CommandJob& job)
      : translation_(translation), document_(translation.document), job_(job) {}

  void read_inputs(std::vector<Binding>& inputs) {
    declare(job_.declared_inputs, inputs);
    for (const ForeignKey& key : keys_of(job_.given_inputs, "inputs")) {
      Binding* binding = find(inputs, key.name);
      if (binding == nullptr && job_.declared_inputs) {
        refuse_unknown(key.key, "component" + in_file(), "input", key.name, inputs);
        continue;
      }
      if (binding == nullptr) {
        inputs.push_back({.name = key.name, .range = key.key});
        binding = &inputs.back();
      }
      give(key, *binding);
    }
    override_inputs(inputs);
  }

  void read_outputs(std::vector<Binding>& outputs) {
    for (const auto& node : {job_.declared_outputs, job_.given_outputs}) {
      for (const ForeignKey& key : keys_of(node, "outputs")) {
        if (find(outputs, key.name) == nullptr) {
          outputs.push_back({.name = key.name, .is_path = true, .range = key.key});
        }
        give_output(key, *find(outputs, key.name));
      }
    }
    override_outputs(outputs);
    for (Binding& output : outputs) {
      if (!output.value)
        output.value =
            path_below(translation_.input.foreign.current_folder, "outputs/" + output.name);
    }
  }

 private:
  static Binding* find(std::vector<Binding>& bindings, std::string_view name) {
    const auto found = std::find_if(bindings.begin(), bindings.end(),
                                    [&](const Binding& b) { return b.name == name; });
    return found == bindings.end() ? nullptr : &*found;
  }

  std::vector<ForeignKey> keys_of(std::optional<NodeId> node, const char* name) {
    if (!node) return {};
    const Node& mapping = document_[*node];
    std::vector<ForeignKey> keys;
    if (mapping.reported) return keys;
    if (mapping.kind != NodeKind::mapping) {
      translation_.diagnostics.error(
          mapping.range, std::string(name) + " must be a mapping, not " + found_instead(mapping));
      return keys;
    }
    for (const auto [key, value] : document_.entries(*node))
      keys.push_back({document_[key].text, document_[key].range, value});
    return keys;
  }

  /// Reads a component's declarations of its inputs.
  void declare(std::optional<NodeId> declared, std::vector<Binding>& inputs) {
    for (const ForeignKey& key : keys_of(declared, "inputs")) {
      Binding binding{.name = key.name, .range = key.key};
      const Node& node = document_[key.value];
      if (node.kind == NodeKind::mapping && !is_good(key, "inputs", Body::input)) {
        binding.value = "";
      } else if (node.kind == NodeKind::mapping) {
        read_type(key.value, binding);
        ForeignKeys keys(document_, translation_.diagnostics, Spelling::exact, key.value, "inputs");
        binding.is_optional = keys.is_true("optional");
        if (const auto value = keys.find("default")) set(*value, binding);
      } else {
        set(key, binding);
      }
      inputs.push_back(std::move(binding));
    }
  }

  void read_type(NodeId mapping, Binding& binding) {
    const std::string type = scalar_of(document_, mapping, "type").value_or("");
    binding.is_path = binding.is_path || is_data_type(type);
    binding.is_file = binding.is_file || type == "uri_file";
    binding.is_literal = binding.is_literal || (!type.empty() && !is_data_type(type));
  }

  [[nodiscard]] bool is_good(const ForeignKey& key, const std::string& section, Body kind) {
    return check_body(translation_, key.value, section + '.' + key.name, kind);
  }

  void give(const ForeignKey& key, Binding& binding) {
    const Node& node = document_[key.value];
    binding.range = key.key;
    if (node.kind != NodeKind::mapping) return set(key, binding);
    read_type(key.value, binding);
    if (!is_good(key, "inputs", Body::input)) {
      binding.value = "";
      return;
    }
    ForeignKeys keys(document_, translation_.diagnostics, Spelling::exact, key.value,
                     "inputs." + key.name);
    binding.is_optional = binding.is_optional || keys.is_true("optional");
    if (const auto path = keys.find("path")) {
      binding.is_path = true;
      // The value comes from a pipeline's input, which has its own path.
      return document_[path->value].kind == NodeKind::mapping
                 ? give({key.name, path->key, path->value}, binding)
                 : set(*path, binding);
    }
    const bool has_type = keys.find("type").has_value();
    for (const char* name : {"value", "default", "data", "file", "folder"}) {
      const auto value = keys.find(name);
      if (value && document_[value->value].kind == NodeKind::mapping)
        return refuse_datastore(binding, *value);
      if (value) return set(*value, binding);
    }
    // "type default uri_folder": a mapping without a type is data
    if (!has_type) binding.is_path = true;
  }

  /// Takes the text of the value unchanged: `1e-3` and `True` stay as written.
  void set(const ForeignKey& key, Binding& binding) {
    const Node& node = document_[key.value];
    if (node.reported) binding.value = "";
    if (node.kind == NodeKind::null) return;
    if (node.kind != NodeKind::scalar) {
      translation_.diagnostics.error(
          key.key,
          "the input " + binding.name + " must have one value, not " + found_instead(node));
      binding.value = "";
      return;
    }
    const std::string text = node.text;
    const SourceRange at = range_of(document_, key);
    binding.range = at;
    if (text.find("${{") != std::string::npos) return set_expression(binding, text, at);
    // "azureml:" begins the name of data, unless a component declares the input as text.
    const bool is_typed = binding.is_literal || job_.declared_inputs;
    binding.is_path = binding.is_path || (!is_typed && text.starts_with("azureml:"));
    if (!binding.is_path) {
      binding.value = text;
      return;
    }
    binding.value = "";
    if (refuse_path("the input " + binding.name, text, at)) return;
    binding.value = local_path(translation_, job_, text, at);
    if (binding.value) return;
    refuse_remote(binding, text, at);
    binding.value = text;  // so that it is reported once
  }

  /// Reports "C:\data", which Linux would take for a file name. True: an error was reported.
  bool refuse_path(const std::string& what, const std::string& text, SourceRange at) {
    const std::string problem = problem_of_path(text);
    if (!problem.empty()) translation_.diagnostics.error(at, what + " is " + problem);
    return !problem.empty();
  }

  /// Handles a value that is an expression. dlaunch does not know the output of another step, but
  /// --input may give its location.
  void set_expression(Binding& binding, const std::string& text, SourceRange at) {
    const auto reference = parent_reference(text);
    if (reference && (reference->names_parent || reference->kind == "jobs")) {
      binding.is_path = true;
      return;
    }
    if (is_named(translation_.input.foreign.inputs, binding.name)) return;
    translation_.diagnostics.error(
        at, "the input " + binding.name + " is " + in_quotes(text) +
                ", which dlaunch cannot resolve; give a value: --input " + binding.name +
                (binding.is_path ? "=./dir" : "=VALUE"));
    binding.value = text;  // so that it is reported once
  }

  static bool is_named(const std::vector<NamedValue>& given, const std::string& name) {
    return std::any_of(given.begin(), given.end(),
                       [&](const NamedValue& value) { return value.name == name; });
  }

  void refuse_remote(const Binding& binding, const std::string& text, SourceRange at) {
    if (is_named(translation_.input.foreign.inputs, binding.name)) return;
    translation_.diagnostics.error(
        at, "the input " + binding.name + " is " + in_quotes(text) +
                ", which dlaunch cannot fetch; give a local one: --input " + binding.name +
                "=./dir");
  }

  /// Reports "data: {datastore: ..., directory: /}", a form of 2020.
  void refuse_datastore(Binding& binding, const ForeignKey& key) {
    binding.is_path = true;
    binding.value = "";
    if (is_named(translation_.input.foreign.inputs, binding.name)) return;
    translation_.diagnostics.error(
        key.key, "the input " + binding.name +
                     " is in a datastore, which dlaunch cannot fetch; give a local one: --input " +
                     binding.name + "=./dir");
  }

  /// " \"train.yml\"" if the component is in a file of its own; otherwise empty.
  [[nodiscard]] std::string in_file() const {
    return job_.component.empty() ? "" : ' ' + in_quotes(job_.component);
  }

  void give_output(const ForeignKey& key, Binding& binding) {
    const NodeKind kind = document_[key.value].kind;
    if (kind == NodeKind::null) return;
    if (kind != NodeKind::mapping) return refuse_text(key);
    if (!is_good(key, "outputs", Body::output)) return;
    read_type(key.value, binding);
    const auto path = scalar_of(document_, key.value, "path");
    const auto node = value_of(document_, key.value, "path");
    if (!path || !node) return;
    const SourceRange at = document_[*node].range;
    const auto reference = parent_reference(*path);
    if (reference && reference->names_parent) return;  // the same as no path
    const bool is_given = is_named(translation_.input.foreign.outputs, binding.name);
    if (path->find("${{") != std::string::npos && !is_remote(*path) && !is_given)
      return translation_.diagnostics.error(
          at, "the output " + binding.name + " goes to " + in_quotes(*path) +
                  ", which dlaunch cannot resolve; give a folder: --output " + binding.name +
                  "=DIR");
    if (refuse_path("the output " + binding.name, *path, at)) return;
    if (const auto local = local_path(translation_, job_, *path, at)) {
      binding.value = local;
    } else {
      translation_.note_at(at, "the output " + binding.name + " goes to outputs/" + binding.name +
                                   " here; for another folder: --output " + binding.name + "=DIR");
    }
  }

  /// Reports a text: an output is a mapping or empty, or in a step a reference to the pipeline.
  void refuse_text(const ForeignKey& key) {
    const Node& node = document_[key.value];
    const auto reference = parent_reference(node.text);
    if (reference && (reference->names_parent || reference->kind == "outputs")) return;
    const bool is_path =
        node.kind == NodeKind::scalar && node.text.find("${{") == std::string::npos;
    translation_.diagnostics.error(range_of(document_, key),
                                   "outputs." + key.name + " must be a mapping, not " +
                                       found_instead(node) +
                                       (is_path ? "; write {path: " + node.text + "}" : ""));
  }

  void override_inputs(std::vector<Binding>& inputs) {
    for (const NamedValue& given : translation_.input.foreign.inputs) {
      const auto& taken = job_.of_pipeline;
      if (contains(taken, given.name)) continue;
      const SourceRange at = add_source(translation_, given);
      Binding* binding = find(inputs, given.name);
      if (binding == nullptr) {
        refuse_unknown(at, "job", "input", given.name, inputs);
        continue;
      }
      binding->range = at;
      if (binding->is_path && refuse_path("the value", given.value, at)) {
        binding->value = "";
      } else if (!binding->is_path) {
        binding->value = given.value;
      } else if (is_remote(given.value)) {
        translation_.diagnostics.error(
            at, "dlaunch cannot fetch remote data; give a local file or folder");
      } else {
        binding->value =
            path_below(translation_.input.foreign.current_folder, without_file_scheme(given.value));
      }
    }
  }

  void override_outputs(std::vector<Binding>& outputs) {
    for (const NamedValue& given : translation_.input.foreign.outputs) {
      const SourceRange at = add_source(translation_, given);
      Binding* binding = find(outputs, given.name);
      if (binding == nullptr) {
        refuse_unknown(at, "job", "output", given.name, outputs);
      } else if (refuse_path("the value", given.value, at)) {
        binding->value = "";
      } else if (is_remote(given.value)) {
        translation_.diagnostics.error(at, "dlaunch writes outputs only to local folders");
      } else {
        binding->value = path_below(translation_.input.foreign.current_folder, given.value);
      }
    }
  }

  void refuse_unknown(SourceRange at, const std::string& who, const std::string& what,
                      const std::string& name, const std::vector<Binding>& known) {
    const std::string names = joined(known, ", ", &Binding::name);
    translation_.diagnostics.error(at, "the " + who + " has no " + what + ' ' + in_quotes(name) +
                                           (names.empty() ? "; it has none" : "; it has " + names));
  }

  Translation& translation_;
  const Document& document_;
  const CommandJob& job_;
};

}  // namespace

Bindings read_bindings(Translation& translation, const CommandJob& job) {
  Bindings bindings;
  BindingReader reader(translation, job);
  reader.read_inputs(bindings.inputs);
  reader.read_outputs(bindings.outputs);
  return bindings;
}

std::optional<std::string> local_path(const Translation& translation, const CommandJob& job,
                                      const std::string& text, SourceRange range) {
  if (is_remote(text)) return std::nullopt;
  const bool is_other = range.source < job.folders.size() && !job.folders[range.source].empty();
  const std::string& folder = is_other ? job.folders[range.source]
                              : translation.sources[range.source].is_argument
                                  ? translation.input.foreign.current_folder
                                  : translation.input.foreign.folder;
  return path_below(folder, without_file_scheme(text));
}

}  // namespace dlaunch::jobfile::azure
