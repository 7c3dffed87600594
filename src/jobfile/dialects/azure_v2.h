// Declarations shared by the files of the Azure ML CLI v2 dialect. Rules: "CLI (v2) command job
// YAML schema", "... command component ...", "... pipeline job ...", "Distributed GPU training
// guide" of Azure ML's documentation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/dialects/dialect.h"
#include "jobfile/dialects/foreign_keys.h"

namespace dlaunch::jobfile::azure {

/// A command job, a component, or a step of a pipeline, as one mapping.
struct CommandJob {
  NodeId keys = 0;                        // a step's keys take precedence over its component's
  std::optional<NodeId> declared_inputs;  // a component's: types, defaults, optional
  std::optional<NodeId> given_inputs;     // values
  std::optional<NodeId> declared_outputs;
  std::optional<NodeId> given_outputs;
  std::string component{};                 // the component's file; empty: no component file
  std::vector<std::string> of_pipeline{};  // names of --input values that the pipeline uses
  /// Per source, the base folder of its relative paths. Without one, it is the folder of the job
  /// file, or the current folder for the command line.
  std::vector<std::string> folders;
};

/// A value for ${{inputs.NAME}} or ${{outputs.NAME}}.
struct Binding {
  std::string name;
  std::optional<std::string> value{};  // nullopt: an input without a value; "": also after an error
  bool is_path = false;
  bool is_literal = false;  // declared as a literal
  bool is_optional = false;
  bool is_file = false;  // uri_file
  SourceRange range{};
};

struct Bindings {
  std::vector<Binding> inputs;
  std::vector<Binding> outputs;
};

/// "${{parent.inputs.x}}": a reference from a step to its pipeline.
struct ParentReference {
  std::string kind;  // "inputs", "outputs", "jobs"
  std::string name;  // for "jobs": "step.outputs.y"
  /// False for the 2021 spelling, "jobs.x.outputs.y" and "inputs.x" without "parent.".
  bool names_parent = false;
};

/// The normalized `type` of a job or step: "command", "pipeline", ..., without the 2020 and 2021
/// spellings (command_job, component_job, CommandComponent).
[[nodiscard]] std::string job_type(std::string_view type);

/// Adds the command line's value as a separate source.
[[nodiscard]] SourceRange add_source(Translation& translation, const NamedValue& value);

/// The reference in `text`; nullopt: the text is not exactly one such expression.
[[nodiscard]] std::optional<ParentReference> parent_reference(std::string_view text);

/// The values of all inputs and outputs, including those from the command line.
[[nodiscard]] Bindings read_bindings(Translation& translation, const CommandJob& job);

/// The command with its expressions replaced, unquoted. Optional parts ($[[ ]]) whose inputs have
/// no value are removed. Errors are reported at the expression.
[[nodiscard]] std::string resolve_command(Translation& translation, const LocatedText& command,
                                          const Bindings& bindings);

/// How many processes of a PyTorch job run on each node, according to its file.
struct ProcessCount {
  std::int64_t per_node = 1;
  bool is_given = false;
  SourceRange range;
  std::string key;  // "process_count_per_instance"
};

/// Whether the command runs once per node and starts its own workers (`launch: per-node`). A
/// launcher that would run several times on a node causes an error, or a note if that may be
/// intended.
[[nodiscard]] bool is_per_node(Translation& translation, const LocatedText& command,
                               const ProcessCount& count);

/// The size of a job.
struct JobSize {
  LocatedNumber nodes{1, {}};
  bool is_told = false;  // given on the command line
  std::string setup{};   // a line for the job's setup
};

/// The effective `distribution.type`: "pytorch" for PyTorch and torch.distributed, "mpi" for MPI,
/// ...
[[nodiscard]] std::string distribution_kind(std::string_view type);

/// Reads `distribution`: sets framework, launch, nodes, processes and roles, and `size.nodes` to
/// the effective number.
void translate_distribution(Translation& translation, ForeignKeys& job, const LocatedText& command,
                            JobSize& size);

/// Whether values of this type of input or output are files or folders: "uri_folder", "mltable",
/// ...
[[nodiscard]] bool is_data_type(std::string_view type);

enum class Body { input, output };

/// Reports unknown keys, types and modes in "{type: ..., path: ...}" of an input or output. False:
/// an error was reported. `path`: "inputs.data".
[[nodiscard]] bool check_body(Translation& translation, NodeId body, const std::string& path,
                              Body kind);

/// The selected step of a pipeline, or the job merged with its component; nullopt: an error was
/// reported.
[[nodiscard]] std::optional<CommandJob> find_step(Translation& translation);
[[nodiscard]] std::optional<CommandJob> with_component(Translation& translation, NodeId job);

void translate_command(Translation& translation, const CommandJob& job);

/// The absolute path for a value from source `range.source`; nullopt: not a local path (a
/// datastore, a URL).
[[nodiscard]] std::optional<std::string> local_path(const Translation& translation,
                                                    const CommandJob& job, const std::string& text,
                                                    SourceRange range);

/// Reads options of docker-run(1) from one text, for the container at `path`: adds volumes to
/// `mounts`; a note lists the options that dlaunch does not support.
void read_docker_arguments(Translation& translation, const NativeJob::Path& path,
                           const LocatedText& arguments, std::vector<LocatedText>& mounts);

}  // namespace dlaunch::jobfile::azure
