// Merges a component and the job or step that refers to it into one mapping, as if the user had
// written it that way.
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

constexpr std::string_view kDataTypes[] = {
    "uri_folder", "uri_file", "mltable", "custom_model", "mlflow_model", "triton_model", "path"};

Words types_of(Body kind) {
  Words types(std::begin(kDataTypes), std::end(kDataTypes));
  // Types in components; the last four are 2021 spellings.
  if (kind == Body::input)
    types.insert(types.end(),
                 {"string", "integer", "number", "boolean", "enum", "int", "float", "str", "bool"});
  return types;
}

Words modes_of(Body kind) {
  if (kind == Body::output) return {"rw_mount", "upload", "direct", "mount"};
  return {"ro_mount", "rw_mount", "download", "direct", "mount", "eval_mount", "eval_download"};
}

void check_word(ForeignKeys& keys, const char* key, const Words& known) {
  const auto word = keys.text(key);
  if (!word || word->text.find("${{") != std::string::npos) return;
  if (contains(known, lower(word->text))) return;
  const std::string meant = did_you_mean(word->text, known);
  keys.error(word->range, "unknown " + keys.path_of(key) + ' ' + in_quotes(word->text) +
                              (meant.empty() ? "; known here: " + joined(known) : meant));
}

}  // namespace

bool is_data_type(std::string_view type) {
  return contains(kDataTypes, type);
}

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

/// The entries of both mappings. Those of `from` take precedence; nested mappings are not merged.
NodeId merged(Document& document, NodeId base, NodeId from) {
  Node copy = document[base];
  copy.range = document[from].range;
  const NodeId result = document.add(std::move(copy));
  for (const auto [key, value] : document.entries(from)) document.put(result, key, value);
  return result;
}

/// Whether a step may override individual keys of this section. Distributions of different types
/// are not merged.
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
  for (const auto [key, value] : document.entries(step)) {
    const std::string name = document[key].text;
    const auto before = value_of(document, base, name);
    if (before && is_merged_inside(document, name, *before, value))
      document.put(result, key, merged(document, *before, value));
  }
  return result;
}

NodeId without(Document& document, NodeId mapping, std::string_view key) {
  const NodeId copy = document.add(Node(document[mapping]));
  document.erase(copy, key);
  return copy;
}

/// The component's mapping and the base folder of its paths; nullopt: an error was reported.
struct Component {
  NodeId root = 0;
  std::uint32_t source = 0;
  std::string folder;
};

std::optional<Component> read_component(Translation& t, const std::string& text, SourceRange at,
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
    return refuse("the file " + in_quotes(path) + " does not contain a component");
  component.root = *root;
  return component;
}

}  // namespace

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
    const LocatedText name{t.document[base].text, t.document[base].range};
    const auto read = read_component(t, name.text, name.range, t.input.foreign.folder);
    if (!read) return std::nullopt;
    job.folders.resize(read->source + 1);
    job.folders[read->source] = read->folder;
    job.component = name.text;
    base = read->root;
  } else if (t.document[base].kind != NodeKind::mapping) {
    t.diagnostics.error(t.document[base].range, "component must be a file or a mapping");
    return std::nullopt;
  }
  job.declared_inputs = value_of(t.document, base, "inputs");
  job.declared_outputs = value_of(t.document, base, "outputs");
  if (!job.declared_inputs) job.declared_inputs = t.document.add_mapping({});
  job.keys = overridden(t.document, base, without(t.document, job.keys, "component"));
  return job;
}

}  // namespace dlaunch::jobfile::azure
