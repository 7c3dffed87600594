// What the mapping of an input or output may hold. Rules: "Inputs and outputs" of the schemas of
// command jobs, components and pipelines; InputSchema and OutputSchema of azure-ai-ml.
#include <algorithm>
#include <vector>

#include "spec/dialects/azure_v2.h"
#include "spec/nearest.h"

namespace dlaunch::spec::azure {

namespace {

using Words = std::vector<std::string_view>;

const Words& types_of(Body kind) {
  static const Words kOutputs{"uri_folder",   "uri_file",     "mltable", "custom_model",
                              "mlflow_model", "triton_model", "path"};
  static const Words kInputs = [] {
    Words types = kOutputs;
    // Of components; the last ones are spellings of 2021.
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

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
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
    keys.skip({"data", "file", "folder"});  // of previews
  } else {
    keys.skip({"early_available", "is_control"});
  }
  keys.refuse_others();
  return translation.diagnostics.count() == before;
}

}  // namespace dlaunch::spec::azure
