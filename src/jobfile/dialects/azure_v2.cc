#include "jobfile/dialects/azure_v2.h"

#include <array>

#include "jobfile/dialects/dialect.h"
#include "jobfile/suggestion.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

using namespace azure;

constexpr KeyName kKeyNames[] = {{"env", "environment_variables"},
                                 {"container.image", "environment.image"},
                                 {"container.shm_size", "resources.shm_size"},
                                 {"container.mounts", "resources.docker_args"},
                                 {"workdir", "code"},
                                 {"timeouts.run", "limits.timeout"},
                                 {"nodes", "resources.instance_count"},
                                 {"processes_per_node", "distribution.process_count_per_instance"},
                                 {"roles.worker", "distribution.worker_count"},
                                 {"roles.ps", "distribution.parameter_server_count"},
                                 {"framework", "distribution.type"}};

/// True for a mapping, and for a value with a reported error: one error is enough.
bool is_mapping(const Document& document, std::optional<NodeId> node) {
  return node && (document[*node].kind == NodeKind::mapping || document[*node].reported);
}

std::string schema_of(const Document& document, NodeId root) {
  return scalar_of(document, root, "$schema").value_or("");
}

/// Schemas of all releases: azuremlschemas.azureedge.net, azureml/sdk-2-0,
/// componentsdk.azureedge.net.
bool is_azure_schema(std::string_view schema) {
  for (const std::string_view part : {"azuremlschemas", "azureml/sdk-2", "componentsdk."})
    if (schema.find(part) != std::string_view::npos) return true;
  for (const std::string_view name : {"CommandComponent", "commandComponent", "commandJob"})
    if (schema.find('/' + std::string(name) + ".") != std::string_view::npos) return true;
  return false;
}

/// "command", "pipeline", ...: from `type`, else the schema's file name, else the keys.
std::string type_of(const Document& document, NodeId root) {
  if (const auto type = scalar_of(document, root, "type")) return job_type(*type);
  const std::string schema = lower(schema_of(document, root));
  struct Name {
    std::string_view part;
    std::string_view type;
  };
  constexpr std::array<Name, 9> kNames{{{"/commandjob", "command"},
                                        {"/commandcomponent", "command"},
                                        {"/pipelinejob", "pipeline"},
                                        {"/pipelinecomponent", "pipeline"},
                                        {"/sweepjob", "sweep"},
                                        {"/parallel", "parallel"},
                                        {"/spark", "spark"},
                                        {"/automl", "automl"},
                                        {"/import", "import"}}};
  for (const Name& name : kNames) {
    if (schema.find(name.part) != std::string::npos) return std::string(name.type);
  }
  if (value_of(document, root, "command") || value_of(document, root, "component"))
    return "command";
  if (is_mapping(document, value_of(document, root, "jobs"))) return "pipeline";
  return value_of(document, root, "trial") ? "sweep" : "";
}

std::string why_not_azure(const Document& document, NodeId root) {
  if (is_azure_schema(schema_of(document, root))) return "";
  // Without a schema, look for keys that a native job file does not have, or not in this form.
  const auto is_section = [&](const char* key) {
    return is_mapping(document, value_of(document, root, key));
  };
  const auto has = [&](const char* key) { return value_of(document, root, key).has_value(); };
  const std::string type = job_type(scalar_of(document, root, "type").value_or(""));
  const bool is_command = has("command") || has("component");
  if ((type == "command" || type == "pipeline" || type == "sweep") &&
      (is_command || is_section("jobs") || has("trial")))
    return "";
  const bool has_distribution =
      is_section("distribution") &&
      value_of(document, *value_of(document, root, "distribution"), "type");
  const bool has_count =
      is_section("resources") &&
      value_of(document, *value_of(document, root, "resources"), "instance_count");
  if (is_command && (has_distribution || has_count || has("environment_variables"))) return "";
  const std::string compute = scalar_of(document, root, "compute").value_or("");
  const bool has_environment = has("environment") && (has("code") || has("compute"));
  const bool is_native = has("framework") || has("shell");
  const bool has_target =
      is_section("compute") && value_of(document, *value_of(document, root, "compute"), "target");
  if (!is_native && is_command &&
      (compute.starts_with("azureml:") || has_target || has_environment))
    return "";
  if (has("trial") && has("search_space")) return "";
  const std::string command = scalar_of(document, root, "command").value_or("");
  // A native file from `dlaunch convert` may contain such text.
  if (!is_native && (command.find("${{inputs.") != std::string::npos ||
                     command.find("${{outputs.") != std::string::npos))
    return "";
  return "no $schema of azuremlschemas, no type: command with a command";
}

}  // namespace

namespace azure {

std::string job_type(std::string_view type) {
  if (type == "CommandComponent" || type == "component_job") return "command";
  if (type.ends_with("_job")) type.remove_suffix(4);
  return std::string(type);
}

SourceRange add_source(Translation& translation, const NamedValue& value) {
  translation.sources.push_back({value.origin, value.value, true});
  return SourceRange::whole(static_cast<std::uint32_t>(translation.sources.size() - 1));
}

}  // namespace azure

namespace {

void translate_azure(Translation& t) {
  const std::string type = type_of(t.document, t.root);
  if (type == "command") {
    if (!t.input.foreign.step.empty())
      t.diagnostics.error(t.document[t.root].range,
                          "this is one job, without steps; leave out --step");
    auto job = with_component(t, t.root);
    if (!job) return;
    // A component file without a job: its inputs are declared, not given.
    const bool is_component =
        !job->declared_inputs &&
        lower(schema_of(t.document, t.root)).find("/commandcomponent") != std::string::npos;
    if (is_component) {
      std::swap(job->declared_inputs, job->given_inputs);
      std::swap(job->declared_outputs, job->given_outputs);
    }
    return translate_command(t, *job);
  }
  if (type == "pipeline") {
    if (const auto step = find_step(t)) translate_command(t, *step);
    return;
  }
  const auto named = value_of(t.document, t.root, "type");
  const SourceRange at = named ? t.document[*named].range : t.document[t.root].range;
  if (type == "sweep")
    return t.diagnostics.error(
        at,
        "a sweep searches for the best of many runs, which dlaunch does not do; "
        "give it one trial as a job of type command");
  t.diagnostics.error(at, "dlaunch does not run jobs of type " + in_quotes(type) +
                              did_you_mean(type, {"command", "pipeline"}) +
                              "; it runs command jobs, components and "
                              "steps of pipelines");
}

}  // namespace

const Dialect kAzureV2{.name = "Azure ML, CLI v2",
                       .why_not = why_not_azure,
                       .translate = translate_azure,
                       .has_inputs = true,
                       .has_outputs = true,
                       .has_steps = true,
                       .key_names = kKeyNames};

}  // namespace dlaunch::jobfile
