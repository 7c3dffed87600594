// Steps of a pipeline, and components: both become one mapping, as if it had been written so.
#include <filesystem>
#include <utility>

#include "spec/dialects/azure_v2.h"
#include "spec/dialects/paths.h"
#include "spec/nearest.h"
#include "spec/yaml_reader.h"

namespace dlaunch::spec::azure {

namespace {

namespace fs = std::filesystem;

void put(Document& document, NodeId mapping, NodeId key, NodeId value) {
  const std::string name = document[key].text;
  std::vector<NodeId>& items = document[mapping].items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (document[items[i]].text != name) continue;
    items[i] = key;
    items[i + 1] = value;
    return;
  }
  items.insert(items.end(), {key, value});
}

/// Entries of `from` win; nothing is merged further down.
NodeId merged(Document& document, NodeId base, NodeId from) {
  Node copy = document[base];
  copy.place = document[from].place;
  const NodeId result = document.add(std::move(copy));
  const std::vector<NodeId> items = document[from].items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2)
    put(document, result, items[i], items[i + 1]);
  return result;
}

/// Sections of which a step says single keys. A distribution of another type is another one.
bool is_merged_inside(const Document& document, const std::string& key, NodeId base, NodeId from) {
  const auto is_mapping = [&](NodeId id) { return document[id].kind == NodeKind::mapping; };
  if (!is_mapping(base) || !is_mapping(from)) return false;
  if (key != "distribution") return key == "resources";
  const auto type = scalar_of(document, from, "type");
  return !type || distribution_kind(*type) ==
                      distribution_kind(scalar_of(document, base, "type").value_or(*type));
}

/// "Keys on a pipeline step override the same keys in its component."
NodeId overridden(Document& document, NodeId base, NodeId step) {
  const NodeId result = merged(document, base, step);
  const std::vector<NodeId> items = document[step].items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const std::string key = document[items[i]].text;
    const auto before = value_of(document, base, key);
    if (before && is_merged_inside(document, key, *before, items[i + 1]))
      put(document, result, items[i], merged(document, *before, items[i + 1]));
  }
  return result;
}

NodeId without(Document& document, NodeId mapping, std::string_view key) {
  Node copy = document[mapping];
  for (std::size_t i = 0; i + 1 < copy.items.size(); i += 2) {
    if (document[copy.items[i]].text != key) continue;
    const auto at = copy.items.begin() + static_cast<std::ptrdiff_t>(i);
    copy.items.erase(at, at + 2);
    break;
  }
  return document.add(std::move(copy));
}

/// Resolves what a step says about its parent.
class StepReader {
 public:
  explicit StepReader(Translation& translation)
      : t_(translation), inputs_(value_of(t_.document, t_.root, "inputs")) {}

  /// A copy of the step in which references to the parent's inputs are their values.
  NodeId resolved_step(NodeId step) {
    Node copy = t_.document[step];
    for (std::size_t i = 0; i + 1 < copy.items.size(); i += 2) {
      const bool are_inputs = t_.document[copy.items[i]].text == "inputs";
      copy.items[i + 1] = resolved(copy.items[i + 1], are_inputs);
    }
    return t_.document.add(std::move(copy));
  }

 private:
  NodeId resolved(NodeId id, bool is_input) {
    const Node node = t_.document[id];
    if (node.kind == NodeKind::scalar) return resolved_scalar(id, node, is_input);
    Node copy = node;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const bool is_key = node.kind == NodeKind::mapping && i % 2 == 0;
      if (!is_key) copy.items[i] = resolved(node.items[i], is_input);
    }
    return t_.document.add(std::move(copy));
  }

  /// Of outputs, also of other steps, nothing is known here: they stay as they are. A step's
  /// command and variables see its own inputs only, so there "inputs.x" is none of the pipeline's.
  NodeId resolved_scalar(NodeId id, const Node& node, bool is_input) {
    const auto reference = parent_reference(node.text);
    if (!reference || reference->kind != "inputs") return id;
    if (!reference->names_parent && !is_input) return id;
    const auto declared = declaration(reference->name);
    if (!declared) return refused(node.place, why_no_input(reference->name));
    const bool is_mapping = t_.document[*declared].kind == NodeKind::mapping;
    if (is_mapping && !check_body(t_, *declared, "inputs." + reference->name, Body::input))
      return reported();
    // With its type, by which it is read; a value may come from --input.
    if (is_input || t_.document[*declared].kind == NodeKind::scalar) return *declared;
    for (const char* key : {"value", "default"}) {
      if (const auto inside = value_of(t_.document, *declared, key)) return *inside;
    }
    const bool is_data = value_of(t_.document, *declared, "path").has_value();
    return refused(node.place, "the pipeline's input " + in_quotes(reference->name) +
                                   (is_data ? " is data, which only an input of the step can take"
                                            : " has no value; give it one, or write it here"));
  }

  /// Of what stands for something that was reported: a null that nobody complains about again.
  NodeId reported() {
    Node node;
    node.reported = true;
    return t_.document.add(std::move(node));
  }

  NodeId refused(Place at, const std::string& why) {
    t_.diagnostics.error(at, why);
    return reported();
  }

  /// "group.x" is an input in a group of inputs.
  [[nodiscard]] std::optional<NodeId> declaration(std::string_view name) const {
    std::optional<NodeId> inputs = inputs_;
    while (inputs && t_.document[*inputs].kind == NodeKind::mapping) {
      if (const auto found = entry(*inputs, name)) return found;
      const auto dot = name.find('.');
      if (dot == std::string_view::npos) break;
      inputs = value_of(t_.document, *inputs, name.substr(0, dot));
      name.remove_prefix(dot + 1);
    }
    return std::nullopt;
  }

  /// Also one without a value, which --input may give.
  [[nodiscard]] std::optional<NodeId> entry(NodeId mapping, std::string_view name) const {
    const std::vector<NodeId>& items = t_.document[mapping].items;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      if (t_.document[items[i]].text == name) return items[i + 1];
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string why_no_input(const std::string& name) const {
    std::vector<std::string_view> names;
    std::string all;
    if (inputs_ && t_.document[*inputs_].kind == NodeKind::mapping) {
      const std::vector<NodeId>& items = t_.document[*inputs_].items;
      for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
        names.push_back(t_.document[items[i]].text);
        all += (all.empty() ? "; it has " : ", ") + t_.document[items[i]].text;
      }
    }
    const std::string meant = did_you_mean(name, names);
    return "the pipeline has no input " + in_quotes(name) +
           (!meant.empty() ? meant
            : all.empty()  ? "; write it under inputs"
                           : all);
  }

  Translation& t_;
  std::optional<NodeId> inputs_;
};

std::string listed(const Document& document, NodeId jobs) {
  std::string out;
  const Node& node = document[jobs];
  for (std::size_t i = 0; i + 1 < node.items.size(); i += 2)
    out += (out.empty() ? "" : ", ") + document[node.items[i]].text;
  return out;
}

/// The component's own mapping and where its paths begin; nullopt: reported.
struct Component {
  NodeId root = 0;
  std::uint32_t source = 0;
  std::string folder;
};

std::optional<Component> read_component(Translation& t, const std::string& text, Place at,
                                        const std::string& folder) {
  const auto refuse = [&](const std::string& why) {
    t.diagnostics.error(at, why);
    return std::nullopt;
  };
  if (const std::string problem = problem_of_path(text); !problem.empty())
    return refuse("the component is " + problem);
  if (is_remote(text))
    return refuse("the component is " + in_quotes(text) +
                  ", which dlaunch cannot fetch; name a file of this machine");
  if (!t.input.foreign.read_file) return refuse("the component's file cannot be read here");
  const std::string path = path_below(folder, without_file_scheme(text));
  const auto content = t.input.foreign.read_file(path);
  if (!content) return refuse("the component cannot be read: " + content.error().message);
  t.sources.push_back({path, std::string(without_byte_order_mark(*content)), false});
  Component component;
  component.source = static_cast<std::uint32_t>(t.sources.size() - 1);
  component.folder = fs::path(path).parent_path().string();
  const auto root = read_yaml(t.sources, component.source, t.document, t.diagnostics);
  if (!root) return std::nullopt;
  if (t.document[*root].kind != NodeKind::mapping)
    return refuse("the component's file holds no component");
  component.root = *root;
  return component;
}

}  // namespace

std::optional<ParentReference> parent_reference(std::string_view text) {
  const auto trim = [](std::string_view part) {
    const auto first = part.find_first_not_of(" \t");
    if (first == std::string_view::npos) return std::string_view();
    return part.substr(first, part.find_last_not_of(" \t") - first + 1);
  };
  text = trim(text);
  if (!text.starts_with("${{") || !text.ends_with("}}") || text.size() < 5) return std::nullopt;
  text = trim(text.substr(3, text.size() - 5));
  if (text.find("${{") != std::string_view::npos) return std::nullopt;  // two, or one inside
  const bool names_parent = text.starts_with("parent.");
  if (names_parent) text.remove_prefix(7);
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  return ParentReference{std::string(text.substr(0, dot)), std::string(text.substr(dot + 1)),
                         names_parent};
}

std::optional<CommandJob> with_component(Translation& t, NodeId keys) {
  CommandJob job;
  job.keys = keys;
  job.given_inputs = value_of(t.document, keys, "inputs");
  job.given_outputs = value_of(t.document, keys, "outputs");
  // "Step-level overrides" of the preview of 2021.
  if (const auto overrides = value_of(t.document, keys, "overrides");
      overrides && t.document[*overrides].kind == NodeKind::mapping) {
    job.keys = overridden(t.document, without(t.document, keys, "overrides"), *overrides);
  }
  const auto component = value_of(t.document, keys, "component");
  if (!component) return job;
  NodeId base = *component;
  if (t.document[base].reported) return std::nullopt;
  if (t.document[base].kind == NodeKind::scalar) {
    const PlacedText name{t.document[base].text, t.document[base].place};
    const auto read = read_component(t, name.text, name.place, t.input.foreign.folder);
    if (!read) return std::nullopt;
    job.folders.resize(read->source + 1);
    job.folders[read->source] = read->folder;
    base = read->root;
  } else if (t.document[base].kind != NodeKind::mapping) {
    t.diagnostics.error(t.document[base].place, "component must be a file or a mapping");
    return std::nullopt;
  }
  job.declared_inputs = value_of(t.document, base, "inputs");
  job.declared_outputs = value_of(t.document, base, "outputs");
  if (!job.declared_inputs) {
    Node none;
    none.kind = NodeKind::mapping;
    job.declared_inputs = t.document.add(std::move(none));
  }
  job.keys = overridden(t.document, base, without(t.document, job.keys, "component"));
  return job;
}

std::optional<CommandJob> find_step(Translation& t) {
  const auto jobs = value_of(t.document, t.root, "jobs");
  if (jobs && t.document[*jobs].reported) return std::nullopt;
  if (!jobs || t.document[*jobs].kind != NodeKind::mapping) {
    t.diagnostics.error(Place::whole(0), "a pipeline without steps (jobs)");
    return std::nullopt;
  }
  const std::string& step = t.input.foreign.step;
  ForeignKeys top(t.document, t.diagnostics, Spelling::exact, t.root, "");
  const Place at = top.find("jobs")->key;
  if (step.empty()) {
    t.diagnostics.error(at,
                        "this is a pipeline, of which dlaunch runs one step: --step NAME; "
                        "there are " +
                            listed(t.document, *jobs));
    return std::nullopt;
  }
  const auto found = value_of(t.document, *jobs, step);
  if (found && t.document[*found].reported) return std::nullopt;
  if (!found || t.document[*found].kind != NodeKind::mapping) {
    t.diagnostics.error(at, "the pipeline has no step " + in_quotes(step) + "; there are " +
                                listed(t.document, *jobs));
    return std::nullopt;
  }
  const std::string type = scalar_of(t.document, *found, "type").value_or("command");
  if (type != "command") {
    t.diagnostics.error(t.document[*found].place, "the step " + step + " is of type " +
                                                      in_quotes(type) +
                                                      "; dlaunch runs steps of type command");
    return std::nullopt;
  }
  NodeId keys = StepReader(t).resolved_step(*found);
  if (!value_of(t.document, keys, "name")) {
    Node name;
    name.kind = NodeKind::scalar;
    name.text = step;
    name.place = t.document[*found].place;
    Node key = name;
    key.text = "name";
    const NodeId key_id = t.document.add(std::move(key));
    const NodeId name_id = t.document.add(std::move(name));
    put(t.document, keys, key_id, name_id);
  }
  return with_component(t, keys);
}

}  // namespace dlaunch::spec::azure
