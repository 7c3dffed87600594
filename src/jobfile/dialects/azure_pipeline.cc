// Turns one step of a pipeline into a mapping that can be read like a job.
#include <utility>

#include "jobfile/dialects/azure_v2.h"
#include "jobfile/suggestion.h"
#include "text/strings.h"

namespace dlaunch::jobfile::azure {

namespace {

/// Resolves a step's references to its pipeline.
class StepReader {
 public:
  StepReader(Translation& translation, NodeId step)
      : t_(translation), inputs_(value_of(t_.document, t_.root, "inputs")) {
    take_told(value_of(t_.document, step, "inputs"));
  }

  /// The --input values that name an input of the pipeline.
  [[nodiscard]] std::vector<std::string> taken() const {
    std::vector<std::string> names;
    for (const Told& one : told_) names.push_back(one.given->name);
    return names;
  }

  /// Notes the values that the step does not use, because users may expect an effect.
  void note_unused() {
    for (const Told& one : told_) {
      if (!one.is_used)
        t_.notes.push_back(one.given->origin + " changes nothing: the step " +
                           t_.input.foreign.step + " does not use this input of the pipeline");
    }
  }

  /// A copy of the step in which references to the pipeline's inputs are replaced by their values.
  NodeId resolved_step(NodeId step) {
    Node copy = t_.document[step];
    for (std::size_t i = 0; i + 1 < copy.items.size(); i += 2) {
      const bool are_inputs = t_.document[copy.items[i]].text == "inputs";
      copy.items[i + 1] = resolved(copy.items[i + 1], are_inputs);
    }
    return t_.document.add(std::move(copy));
  }

 private:
  struct Told {
    const NamedValue* given;
    SourceRange range;
    bool is_used = false;
  };

  /// Collects the --input values for inputs of the pipeline. If the step has an input of the same
  /// name, the value is for the step instead.
  void take_told(std::optional<NodeId> of_step) {
    if (!inputs_ || t_.document[*inputs_].kind != NodeKind::mapping) return;
    const bool has_own = of_step && t_.document[*of_step].kind == NodeKind::mapping;
    for (const NamedValue& given : t_.input.foreign.inputs) {
      if (has_own && t_.document.find(*of_step, given.name)) continue;
      if (declaration(given.name)) told_.push_back({&given, add_source(t_, given)});
    }
  }

  /// The value from --input, as if the pipeline contained it; nullopt: none.
  std::optional<NodeId> told_value(std::string_view name, NodeId declared) {
    for (Told& one : told_) {
      if (one.given->name != name) continue;
      one.is_used = true;
      const auto type = scalar_of(t_.document, declared, "type");
      const auto path = value_of(t_.document, declared, "path");
      const bool is_data =
          path ||
          (type && (type->starts_with("uri_") || *type == "mltable" || type->ends_with("_model")));
      const NodeId id = t_.document.add_text(one.given->value, one.range);
      if (!is_data) return id;
      const NodeId copy = t_.document.add(Node(t_.document[declared]));
      t_.document.put(copy, t_.document.add_text("path", one.range), id);
      return copy;
    }
    return std::nullopt;
  }

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

  /// Resolves a scalar that may be a reference. References to outputs, also of other steps, cannot
  /// be resolved and stay unchanged. In a step's command and variables, "inputs.x" refers to an
  /// input of the step and not of the pipeline.
  NodeId resolved_scalar(NodeId id, const Node& node, bool is_input) {
    const auto reference = parent_reference(node.text);
    if (!reference || reference->kind != "inputs") return id;
    if (!reference->names_parent && !is_input) return id;
    auto declared = declaration(reference->name);
    if (declared) {
      if (const auto told = told_value(reference->name, *declared)) declared = told;
    }
    if (!declared) return refused(node.range, why_no_input(reference->name));
    const bool is_mapping = t_.document[*declared].kind == NodeKind::mapping;
    if (is_mapping && !check_body(t_, *declared, "inputs." + reference->name, Body::input))
      return reported();
    // Keeps the declaration, because its type determines how the value is read; the value may come
    // from --input.
    if (is_input || t_.document[*declared].kind == NodeKind::scalar) return *declared;
    for (const char* key : {"value", "default"}) {
      if (const auto inside = value_of(t_.document, *declared, key)) return *inside;
    }
    const bool is_data = value_of(t_.document, *declared, "path").has_value();
    return refused(node.range, "the pipeline's input " + in_quotes(reference->name) +
                                   (is_data ? " is data, which only the step's inputs can refer to"
                                            : " has no value; give one: --input " +
                                                  reference->name + "=VALUE"));
  }

  /// A placeholder after an error was reported: a null that causes no further error.
  NodeId reported() {
    Node node;
    node.reported = true;
    return t_.document.add(std::move(node));
  }

  NodeId refused(SourceRange at, const std::string& why) {
    t_.diagnostics.error(at, why);
    return reported();
  }

  /// The declaration of an input of the pipeline; "group.x" is an input in a group of inputs.
  [[nodiscard]] std::optional<NodeId> declaration(std::string_view name) const {
    std::optional<NodeId> inputs = inputs_;
    while (inputs) {
      // An entry without a value counts, too, because --input may give the value.
      if (const auto found = t_.document.find(*inputs, name)) return found->value;
      const auto dot = name.find('.');
      if (dot == std::string_view::npos) break;
      inputs = value_of(t_.document, *inputs, name.substr(0, dot));
      name.remove_prefix(dot + 1);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string why_no_input(const std::string& name) const {
    std::vector<std::string_view> names;
    if (inputs_)
      for (const Document::Entry& entry : t_.document.entries(*inputs_))
        names.push_back(t_.document[entry.key].text);
    const std::string meant = did_you_mean(name, names);
    return "the pipeline has no input " + in_quotes(name) +
           (!meant.empty()  ? meant
            : names.empty() ? "; add it under inputs"
                            : "; it has " + joined(names));
  }

  Translation& t_;
  std::optional<NodeId> inputs_;
  std::vector<Told> told_;
};

std::string listed(const Document& document, NodeId jobs) {
  return joined(
      document.entries(jobs),
      ", ", [&](const Document::Entry& entry) -> const auto& { return document[entry.key].text; });
}

}  // namespace

std::optional<ParentReference> parent_reference(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with("${{") || !text.ends_with("}}") || text.size() < 5) return std::nullopt;
  text = trimmed(text.substr(3, text.size() - 5));
  if (text.find("${{") != std::string_view::npos)
    return std::nullopt;  // two expressions, or one inside another
  const bool names_parent = text.starts_with("parent.");
  if (names_parent) text.remove_prefix(7);
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  return ParentReference{std::string(text.substr(0, dot)), std::string(text.substr(dot + 1)),
                         names_parent};
}

namespace {

/// The step that the user has chosen; nullopt after reporting an error.
std::optional<NodeId> chosen_step(Translation& t) {
  const auto jobs = value_of(t.document, t.root, "jobs");
  if (jobs && t.document[*jobs].reported) return std::nullopt;
  if (!jobs || t.document[*jobs].kind != NodeKind::mapping) {
    t.diagnostics.error(SourceRange::whole(0), "the pipeline has no steps (jobs)");
    return std::nullopt;
  }
  const std::string& step = t.input.foreign.step;
  ForeignKeys top(t.document, t.diagnostics, Spelling::exact, t.root, "");
  const SourceRange at = top.find("jobs")->key;
  if (step.empty()) {
    t.diagnostics.error(at,
                        "this is a pipeline, and dlaunch runs one of its steps: --step NAME; "
                        "the steps are " +
                            listed(t.document, *jobs));
    return std::nullopt;
  }
  const auto found = value_of(t.document, *jobs, step);
  if (found && t.document[*found].reported) return std::nullopt;
  if (!found || t.document[*found].kind != NodeKind::mapping) {
    t.diagnostics.error(at, "the pipeline has no step " + in_quotes(step) + "; its steps are " +
                                listed(t.document, *jobs));
    return std::nullopt;
  }
  const std::string type = job_type(scalar_of(t.document, *found, "type").value_or("command"));
  if (type != "command") {
    t.diagnostics.error(t.document[*found].range, "the step " + step + " is of type " +
                                                      in_quotes(type) +
                                                      "; dlaunch runs steps of type command");
    return std::nullopt;
  }
  return found;
}

}  // namespace

std::optional<CommandJob> find_step(Translation& t) {
  const auto found = chosen_step(t);
  if (!found) return std::nullopt;
  StepReader reader(t, *found);
  NodeId keys = reader.resolved_step(*found);
  reader.note_unused();
  if (!value_of(t.document, keys, "name")) {
    const SourceRange where = t.document[*found].range;
    t.document.put(keys, t.document.add_text("name", where),
                   t.document.add_text(t.input.foreign.step, where));
  }
  auto job = with_component(t, keys);
  if (job) job->of_pipeline = reader.taken();
  return job;
}

}  // namespace dlaunch::jobfile::azure
