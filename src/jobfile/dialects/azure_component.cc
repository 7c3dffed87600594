// Merges a component and the job or step that refers to it into one mapping, as if the user had
// written it that way.
#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "jobfile/dialects/azure_v2.h"
#include "jobfile/dialects/paths.h"
#include "jobfile/suggestion.h"
#include "jobfile/yaml_reader.h"
#include "text/strings.h"

namespace dlaunch::jobfile::azure {

namespace {

using Words = std::vector<std::string_view>;

const Words& types_of(Body kind) {
  static const Words kOutputs{"uri_folder",   "uri_file",     "mltable", "custom_model",
                              "mlflow_model", "triton_model", "path"};
  static const Words kInputs = [] {
    Words types = kOutputs;
    // For components; the last ones are 2021 spellings.
    for (const char* type :
         {"string", "integer", "number", "boolean", "enum", "int", "float", "str", "bool"})
      types.emplace_back(type);
    return types;
  }();
  return kind == Body::input ? kInputs : kOutputs;
}

const Words& modes_of(Body kind) {
  static const Words kOutputs{"rw_mount", "upload", "direct", "mount"};
  static const Words kInputs{"ro_mount", "rw_mount",   "download",     "direct",
                             "mount",    "eval_mount", "eval_download"};
  return kind == Body::input ? kInputs : kOutputs;
}

std::string listed(const Words& words) {
  std::string out;
  for (const std::string_view word : words) out += (out.empty() ? "" : ", ") + std::string(word);
  return out;
}

void check_word(ForeignKeys& keys, const char* key, const Words& known) {
  const auto word = keys.text(key);
  if (!word || word->text.find("${{") != std::string::npos) return;
  if (std::find(known.begin(), known.end(), lower(word->text)) != known.end()) return;
  const std::string meant = did_you_mean(word->text, known);
  keys.error(word->place, "unknown " + keys.path_of(key) + ' ' + in_quotes(word->text) +
                              (meant.empty() ? "; there are " + listed(known) : meant));
}

}  // namespace

bool check_body(Translation& translation, NodeId body, const std::string& path, Body kind) {
  ForeignKeys keys(translation.document, translation.diagnostics, Spelling::exact, body, path);
  const std::size_t before = translation.diagnostics.count();
  check_word(keys, "type", types_of(kind));
  check_word(keys, "mode", modes_of(kind));
  keys.skip({"path", "description", "name", "version", "datastore", "path_on_compute", "properties",
             "intellectual_property"});
  if (kind == Body::input) {
    keys.skip({"optional", "default", "value", "enum", "min", "max"});
    keys.skip({"data", "file", "folder"});  // of preview versions
  } else {
    keys.skip({"early_available", "is_control"});
  }
  keys.refuse_others();
  return translation.diagnostics.count() == before;
}

namespace {

namespace fs = std::filesystem;

/// Entries of `from` take precedence; nested mappings are not merged.
NodeId merged(Document& document, NodeId base, NodeId from) {
  Node copy = document[base];
  copy.place = document[from].place;
  const NodeId result = document.add(std::move(copy));
  const std::vector<NodeId> items = document[from].items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2)
    put_entry(document, result, items[i], items[i + 1]);
  return result;
}

/// Sections in which a step may override individual keys. Distributions of different types do not
/// merge.
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
      put_entry(document, result, items[i], merged(document, *before, items[i + 1]));
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

/// The component's mapping and the base folder of its paths; nullopt: an error was reported.
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
                  ", which dlaunch cannot fetch; use a local file");
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
    return refuse("the file " + in_quotes(path) + " holds no component");
  component.root = *root;
  return component;
}

}  // namespace

void put_entry(Document& document, NodeId mapping, NodeId key, NodeId value) {
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

std::optional<CommandJob> with_component(Translation& t, NodeId keys) {
  CommandJob job;
  job.keys = keys;
  job.given_inputs = value_of(t.document, keys, "inputs");
  job.given_outputs = value_of(t.document, keys, "outputs");
  // "Step-level overrides" of the 2021 preview.
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
    job.component = name.text;
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

}  // namespace dlaunch::jobfile::azure
