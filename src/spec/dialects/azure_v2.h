// Parts of the Azure ML CLI v2 dialect that its files share. Rules: "CLI (v2) command job YAML
// schema", "... command component ...", "... pipeline job ...", "Distributed GPU training guide" of
// Azure ML's documentation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/dialects/dialect.h"
#include "spec/dialects/foreign_keys.h"

namespace dlaunch::spec::azure {

/// What is to run: a command job, a component, or a step of a pipeline, as one mapping.
struct CommandJob {
  NodeId keys = 0;                        // a step's keys win over those of its component
  std::optional<NodeId> declared_inputs;  // a component's: types, defaults, optional
  std::optional<NodeId> given_inputs;     // values
  std::optional<NodeId> declared_outputs;
  std::optional<NodeId> given_outputs;
  std::string component{};                 // its file; empty: there is none
  std::vector<std::string> of_pipeline{};  // values of --input that the pipeline took
  /// Of each source, in which a path begins; those beyond the end: Translation's own.
  std::vector<std::string> folders;
};

/// A value for ${{inputs.NAME}} or ${{outputs.NAME}}.
struct Binding {
  std::string name;
  std::optional<std::string> value{};  // nullopt: an input that has none; "": also after an error
  bool is_path = false;
  bool is_literal = false;  // its type says so
  bool is_optional = false;
  bool is_file = false;  // uri_file
  Place place{};
};

struct Bindings {
  std::vector<Binding> inputs;
  std::vector<Binding> outputs;
};

/// "${{parent.inputs.x}}": what a step takes from its pipeline.
struct ParentReference {
  std::string kind;  // "inputs", "outputs", "jobs"
  std::string name;  // of jobs: "step.outputs.y"
  /// "jobs.x.outputs.y" and "inputs.x" without "parent." are the spelling of 2021.
  bool names_parent = false;
};

/// "command", "pipeline", ...: `type` of a job or step without the spellings of 2020 and 2021
/// (command_job, component_job, CommandComponent).
[[nodiscard]] std::string job_type(std::string_view type);

/// Adds the command line's value as a separate source.
[[nodiscard]] Place add_source(Translation& translation, const NamedValue& value);

/// Nullopt: the text is something else, or more than one expression.
[[nodiscard]] std::optional<ParentReference> parent_reference(std::string_view text);

/// Values of all inputs and outputs, with those of the command line.
[[nodiscard]] Bindings read_bindings(Translation& translation, const CommandJob& job);

/// The command with its expressions resolved, as text: nothing is quoted. Optional parts ($[[ ]])
/// whose inputs have no value are left out. Errors are reported at the expression.
[[nodiscard]] std::string resolve_command(Translation& translation, const PlacedText& command,
                                          const Bindings& bindings);

/// How many processes of a PyTorch job start on each node, as its file counts them.
struct ProcessCount {
  std::int64_t per_node = 1;
  bool is_given = false;
  Place place;
  std::string key;  // "process_count_per_instance"
};

/// Whether the command runs once on each node and starts its own workers there: `launch: per-node`.
/// Launchers that would be started several times on a node are an error, or a note where they may
/// be meant.
[[nodiscard]] bool is_per_node(Translation& translation, const PlacedText& command,
                               const ProcessCount& count);

/// What the rest of a job has to know of its size.
struct JobSize {
  PlacedNumber nodes{1, {}};
  bool is_told = false;  // by the command line
  std::string setup{};   // a line for the job's setup
};

/// "pytorch" for PyTorch and torch.distributed, "mpi" for MPI, ...: `distribution.type` as it
/// counts.
[[nodiscard]] std::string distribution_kind(std::string_view type);

/// Reads `distribution`: sets framework, launch, nodes, processes and roles. `size.nodes` becomes
/// the number that is used.
void translate_distribution(Translation& translation, ForeignKeys& job, const PlacedText& command,
                            JobSize& size);

/// Sets an entry of a mapping; one of the same name is replaced.
void put_entry(Document& document, NodeId mapping, NodeId key, NodeId value);

enum class Body { input, output };

/// Reports what "{type: ..., path: ...}" of an input or output cannot hold: unknown keys, types and
/// modes. False: there was something. `path`: "inputs.data".
[[nodiscard]] bool check_body(Translation& translation, NodeId body, const std::string& path,
                              Body kind);

/// The step of a pipeline, or the job with the component it names; nullopt: reported.
[[nodiscard]] std::optional<CommandJob> find_step(Translation& translation);
[[nodiscard]] std::optional<CommandJob> with_component(Translation& translation, NodeId job);

void translate_command(Translation& translation, const CommandJob& job);

/// The absolute path of what stands in source `place.source`; nullopt: it is in no folder here (a
/// datastore, a URL).
[[nodiscard]] std::optional<std::string> local_path(const Translation& translation,
                                                    const CommandJob& job, const std::string& text,
                                                    Place place);

}  // namespace dlaunch::spec::azure
