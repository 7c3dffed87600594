#include "jobfile/native_form.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "jobfile/dialects/dialect.h"
#include "jobfile/dialects/foreign_keys.h"
#include "jobfile/field_table.h"
#include "jobfile/other_files.h"
#include "jobfile/suggestion.h"
#include "jobfile/yaml_error.h"
#include "jobfile/yaml_reader.h"
#include "model/mount.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

const Dialect* dialect_of(const Document& document, NodeId root) {
  if (document[root].kind != NodeKind::mapping) return nullptr;
  for (const Dialect& dialect : dialects()) {
    if (dialect.why_not(document, root).empty()) return &dialect;
  }
  return nullptr;
}

/// True if a key is native or nearly so, or if there is advice for every key.
bool looks_native(const Document& document, NodeId root) {
  bool all_are_known_elsewhere = true;
  for (const Document::Entry& entry : document.entries(root)) {
    const std::string& key = document[entry.key].text;
    if (find_field(key) != nullptr || is_section(key + ".") || nearest(key, names_under("")))
      return true;
    all_are_known_elsewhere = all_are_known_elsewhere && !advice_for_unknown_key("", key).empty();
  }
  return all_are_known_elsewhere;
}

/// The first keys of a file, for messages: "apiVersion and kind", "keys a, b, c and more".
std::string first_keys(const Document& document, NodeId root) {
  constexpr std::size_t kShown = 3;
  std::vector<Document::Entry> entries = document.entries(root);
  const bool are_more = entries.size() > kShown;
  if (are_more) entries.resize(kShown);
  const auto name = [&](const Document::Entry& one) { return in_quotes(document[one.key].text); };
  return joined(entries, ", ", name) + (are_more ? ", ..." : "");
}

/// One line for each dialect that was tried, saying why it does not match.
std::string tried(const Document& document, NodeId root, const std::string& indent) {
  std::string out =
      indent + "native: neither \"command\" nor any other key of docs/reference/job-file.md";
  for (const Dialect& dialect : dialects())
    out += indent + std::string(dialect.name) + ": " + dialect.why_not(document, root);
  return out;
}

void refuse_unknown_file(const Document& document, NodeId root, Diagnostics& diagnostics) {
  diagnostics.error(document[document[root].items.front()].range,
                    "not a job file that dlaunch knows. It has the keys " +
                        first_keys(document, root) + "; tried:" + tried(document, root, "\n    "));
}

/// Reports a misspelt characteristic key of a dialect, such as "workerPoolSpec". False: there is
/// none.
bool refuse_misspelt_key(const Document& document, NodeId root, Diagnostics& diagnostics) {
  std::vector<std::string_view> keys;
  for (const Dialect& dialect : dialects()) {
    if (!dialect.own_key.empty()) keys.push_back(dialect.own_key);
  }
  for (const Document::Entry& entry : document.entries(root)) {
    const Node& key = document[entry.key];
    const std::string meant = did_you_mean(key.text, keys);
    if (meant.empty() || contains(keys, key.text)) continue;
    diagnostics.error(key.range, "unknown key " + in_quotes(key.text) + meant);
    return true;
  }
  return false;
}

std::string kind_of(const Document& document, NodeId root) {
  if (const auto kind = document.find(root, "kind")) return document[kind->value].text;
  const Node& node = document[root];
  return node.items.empty() ? "" : document[node.items.front()].text;
}

struct Chosen {
  NodeId root = 0;
  const Dialect* dialect = nullptr;
  std::vector<NodeId> others{};  // documents that are not jobs
};

bool is_mapping(const Document& document, NodeId root) {
  return document[root].kind == NodeKind::mapping && !document[root].items.empty();
}

/// Reports a file of a system that dlaunch cannot run. False: not such a file.
bool refuse_other_file(const Document& document, NodeId root, Diagnostics& diagnostics) {
  const std::string_view kind = kind_of_file(document, root);
  if (kind.empty()) return false;
  diagnostics.error(document[document[root].items.front()].range, std::string(kind));
  return true;
}

/// Reports a file with several documents of which none is a job of another system.
void refuse_documents(const std::vector<YamlDocument>& documents, const Document& document,
                      Diagnostics& diagnostics) {
  for (const YamlDocument& one : documents)
    if (refuse_other_file(document, one.root, diagnostics)) return;
  const bool has_native =
      std::any_of(documents.begin(), documents.end(), [&](const YamlDocument& one) {
        return !is_mapping(document, one.root) || looks_native(document, one.root);
      });
  if (has_native) return diagnostics.error(documents[1].start, kSecondDocument);
  for (const YamlDocument& one : documents)
    if (refuse_misspelt_key(document, one.root, diagnostics)) return;
  std::string message =
      "none of the " + std::to_string(documents.size()) + " documents is a job that dlaunch knows:";
  for (const YamlDocument& one : documents) {
    const std::string kind = scalar_of(document, one.root, "kind").value_or("");
    message += "\n    " +
               (kind.empty() ? "the keys " + first_keys(document, one.root)
                             : "the kind " + in_quotes(kind)) +
               " (" + diagnostics.refer_to(document[one.root].range) +
               "); tried:" + tried(document, one.root, "\n        ");
  }
  const NodeId first = documents.front().root;
  diagnostics.error(document[document[first].items.front()].range, std::move(message));
}

/// Selects the document that is a job.
std::optional<Chosen> choose(std::vector<YamlDocument> documents, const Document& document,
                             Diagnostics& diagnostics) {
  const YamlDocument first = documents.front();
  // A final "---" begins another, empty document.
  std::erase_if(documents,
                [&](const YamlDocument& one) { return document[one.root].kind == NodeKind::null; });
  if (documents.size() < 2) {
    const NodeId root = documents.empty() ? first.root : documents.front().root;
    return Chosen{root, dialect_of(document, root)};
  }
  std::optional<Chosen> chosen;
  std::vector<NodeId> others;
  for (const YamlDocument& one : documents) {
    const Dialect* dialect = dialect_of(document, one.root);
    const SourceRange at = document[one.root].range;
    if (dialect == nullptr) {
      others.push_back(one.root);
    } else if (chosen) {
      diagnostics.error(at,
                        "a second job in the file; dlaunch runs one: give each job its own file");
      return std::nullopt;
    } else {
      chosen = Chosen{one.root, dialect};
    }
  }
  if (!chosen) {
    refuse_documents(documents, document, diagnostics);
    return std::nullopt;
  }
  chosen->others = std::move(others);
  return chosen;
}

/// For --no-container: removes the containers of the job and of its roles.
void leave_out_containers(Document& document, NodeId root) {
  document.erase(root, "container");
  const auto roles = document.find(root, "roles");
  if (!roles) return;
  for (const Document::Entry& role : document.entries(roles->value))
    document.erase(role.value, "container");
}

/// Refuses options that do not apply to a file of this dialect; nullptr: a native file.
void refuse_options(const JobInput& input, const Dialect* dialect, Sources& sources,
                    Diagnostics& diagnostics) {
  const std::string file =
      dialect == nullptr ? "a native job file" : "a job file of " + std::string(dialect->name);
  const auto refuse = [&](const std::string& origin, const std::string& what) {
    sources.push_back({origin, "", true});
    diagnostics.error(SourceRange::whole(static_cast<std::uint32_t>(sources.size() - 1)),
                      file + " has no " + what);
  };
  if (dialect == nullptr || !dialect->has_inputs) {
    for (const NamedValue& value : input.foreign.inputs) refuse(value.origin, "inputs");
  }
  if (dialect == nullptr || !dialect->has_outputs) {
    for (const NamedValue& value : input.foreign.outputs) refuse(value.origin, "outputs");
  }
  if ((dialect == nullptr || !dialect->has_steps) && !input.foreign.step.empty())
    refuse("--step " + input.foreign.step, "steps");
  if (dialect != nullptr && dialect->has_modules) return;
  for (const NamedValue* value : {&input.foreign.module, &input.foreign.package}) {
    if (!value->origin.empty())
      refuse(value->origin, "modules; give the program after --: -- python3 -m NAME");
  }
}

void add_not_used(const std::vector<LocatedText>& keys, const Diagnostics& diagnostics,
                  std::vector<std::string>& notes) {
  if (keys.empty()) return;
  notes.push_back("not used here: " + joined(keys, ", ", [&](const LocatedText& key) {
                    return key.text + " (" + diagnostics.refer_to(key.range) + ')';
                  }));
}

/// Lets containers start in the image's WORKDIR, unless a workdir is given: it applies inside
/// containers, too.
void start_in_images(Translation& t) {
  if (t.is_set("workdir") || t.job.has({"workdir"})) return;
  const auto start = [&](NativeJob::Path path) {
    path.emplace_back("image");
    const bool has_image = t.job.has(path);
    path.back() = "workdir";
    if (has_image && !t.job.has(path))
      t.job.text(path, std::string(kImagesOwn), t.document[t.root].range);
  };
  start({"container"});
  for (const char* role : {"chief", "worker", "ps", "evaluator"})
    start({"roles", role, "container"});
}

NativeForm translated(const Chosen& chosen, const JobInput& input, Sources& sources,
                      Document& document, Diagnostics& diagnostics) {
  Translation translation{
      document, sources, diagnostics, input, chosen.root, NativeJob(document), chosen.others};
  chosen.dialect->translate(translation);
  if (chosen.dialect->starts_in_image) start_in_images(translation);
  diagnostics.name_keys(chosen.dialect->key_names);
  NativeForm form{translation.job.root(),
                  std::string(chosen.dialect->name),
                  translation.took_arguments,
                  {},
                  translation.azure_size};
  for (const NodeId other : chosen.others)
    if (!contains(translation.used, other))
      form.notes.push_back(in_quotes(kind_of(document, other)) + " is not a job and is ignored (" +
                           diagnostics.refer_to(document[other].range) + ")");
  form.notes.insert(form.notes.end(), translation.notes.begin(), translation.notes.end());
  add_not_used(translation.not_used, diagnostics, form.notes);
  return form;
}

NativeForm finished(NativeForm form, const JobInput& input, Document& document) {
  if (input.foreign.no_container) leave_out_containers(document, form.root);
  for (std::string& note : form.notes) note = presentable(note);
  return form;
}

/// Reports a file whose top level is not a mapping.
void refuse_without_keys(const Node& root, Diagnostics& diagnostics) {
  const auto colon = colon_mistake_in_key(root.text, root.range.offset);
  if (root.kind == NodeKind::scalar && root.plain && colon) {
    return diagnostics.error(
        {0, static_cast<std::uint32_t>(colon->offset), static_cast<std::uint32_t>(colon->length)},
        colon->message);
  }
  if (root.kind == NodeKind::null)
    return diagnostics.error(SourceRange::whole(0), "the file is empty");
  diagnostics.error(root.range,
                    "a job file is made of keys and values, such as \"command: python train.py\"");
}

}  // namespace

std::optional<NativeForm> native_form(const JobInput& input, Sources& sources, Document& document,
                                      Diagnostics& diagnostics) {
  NativeForm form;
  if (!input.text) {
    form.root = document.add_mapping({});
    refuse_options(input, nullptr, sources, diagnostics);
    return form;
  }
  if (is_slurm_script(*input.text)) {
    if (const auto problems = check_text(*input.text); !problems.empty()) {
      diagnostics.error(problems.front().range, problems.front().message);
      return std::nullopt;
    }
    refuse_options(input, &kSbatch, sources, diagnostics);
    const NodeId root = document.add_mapping(SourceRange::whole(0));
    form = translated({root, &kSbatch}, input, sources, document, diagnostics);
    return finished(std::move(form), input, document);
  }
  if (const std::string_view script = kind_of_script(*input.text); !script.empty()) {
    diagnostics.error(SourceRange::whole(0), std::string(script));
    return std::nullopt;
  }
  const auto documents = read_yaml_documents(sources, 0, document, diagnostics);
  if (!documents) return std::nullopt;
  auto chosen = choose(*documents, document, diagnostics);
  if (!chosen) return std::nullopt;
  const Node& root = document[chosen->root];
  if (root.kind != NodeKind::mapping) {
    if (!root.reported) refuse_without_keys(root, diagnostics);
    return std::nullopt;
  }
  if (chosen->dialect != nullptr) {
    refuse_options(input, chosen->dialect, sources, diagnostics);
    form = translated(*chosen, input, sources, document, diagnostics);
  } else if (refuse_other_file(document, chosen->root, diagnostics)) {
    return std::nullopt;
  } else if (!looks_native(document, chosen->root)) {
    if (!refuse_misspelt_key(document, chosen->root, diagnostics))
      refuse_unknown_file(document, chosen->root, diagnostics);
    return std::nullopt;
  } else {
    form.root = chosen->root;
    refuse_options(input, nullptr, sources, diagnostics);
  }
  return finished(std::move(form), input, document);
}

// A document belongs to the first dialect that accepts it. Most have a characteristic key:
// apiVersion, trainingInput, workerPoolSpecs, distributed_type, communicator, $schema.
std::span<const Dialect> dialects() {
  static const std::array<Dialect, 9> kDialects{kKubeflow,   kTrainJob,   kKubernetes,
                                                kSkyPilot,   kAiPlatform, kVertexAi,
                                                kAccelerate, kAzureV1,    kAzureV2};
  return kDialects;
}

}  // namespace dlaunch::jobfile
