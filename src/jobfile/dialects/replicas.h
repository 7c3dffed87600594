// Jobs made of groups of machines or pods, each with a role, a count, a command and variables.
// Translates these groups of several dialects into a native job.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jobfile/dialects/dialect.h"
#include "jobfile/dialects/foreign_keys.h"

namespace dlaunch::jobfile {

struct EnvVariable {
  std::string name;
  std::string value;
  SourceRange range;
  bool is_shell = false;  // `value` is shell text for use in double quotes: ${NODE_RANK}
};

/// The equivalent in dlaunch of a field of the pod (valueFrom.fieldRef.fieldPath).
struct FieldMeaning {
  std::string value;
  bool is_shell = false;  // as EnvVariable::is_shell
};
using FieldMeanings = std::function<std::optional<FieldMeaning>(std::string_view path)>;

/// A variable that the system adds to a container after the file's own variables, so it takes
/// precedence.
struct AddedVariable {
  std::string name;
  std::string value;
  bool is_shell = false;  // `value` is shell text, such as ${RANK}, known when the rank starts
};

/// A word of a command with its references replaced; sets LocatedText::shell if a value is known
/// only when the rank starts. Undefined references stay, with a note.
[[nodiscard]] LocatedText with_references(Translation& translation, const LocatedText& word,
                                          const std::vector<EnvVariable>& env,
                                          const std::vector<AddedVariable>& added);

/// The value of a variable; it may refer only to `before`, the preceding variables.
/// LocatedText::shell is set if one of these is_shell.
[[nodiscard]] LocatedText value_with_references(Translation& translation, const LocatedText& value,
                                                const std::vector<EnvVariable>& before);

struct Replicas {
  std::string role;  // in the native job: chief, worker, ps, evaluator
  LocatedNumber count;
  std::vector<LocatedText> command;  // argv; empty: the image's own program
  std::vector<LocatedText> args;     // appended to it
  LocatedText image;                 // empty: none
  LocatedText workdir;               // in the image; empty: the image's WORKDIR
  std::vector<EnvVariable> env;
  SourceRange range;
};

/// The words that a group runs. Without a command in the file, the words after "--" are used,
/// because the image's own program is unknown. If there are no words at all, this is reported once
/// for all groups.
[[nodiscard]] std::vector<LocatedText> words_of(Translation& translation, const Replicas& replicas);

/// The command as one line of shell text.
[[nodiscard]] std::string line_of(const std::vector<LocatedText>& words);

/// Sets a command: as a list, or as shell text if a word contains variables of its rank.
void set_command(NativeJob& job, const NativeJob::Path& path, const std::vector<LocatedText>& words,
                 SourceRange at);

/// Sets the group's image and its start folder as the container at `path`.
void set_container(Translation& translation, NativeJob::Path path, const Replicas& group);

/// Sets `roles` and `placement`, the parts of `command` and `env` that all groups share, and the
/// roles' own parts. Groups without a process are left out.
void set_roles(Translation& translation, const std::vector<Replicas>& groups);

/// Reads "[{name: A, value: b}]" of Kubernetes and Vertex AI and replaces references to earlier
/// variables. A variable whose value is elsewhere (valueFrom) is passed on from dlaunch's own
/// environment, unless `meanings` knows its field. Only such a field may set EnvVariable::is_shell.
[[nodiscard]] std::vector<EnvVariable> read_env_list(Translation& translation, ForeignKeys& keys,
                                                     std::string_view name, Spelling spelling,
                                                     const FieldMeanings& meanings = {});

/// Whether the command line selects the image for all ranks, or no image.
[[nodiscard]] bool is_image_chosen(const Translation& translation);

/// The number of nodes on the command line (--nnodes, --set nodes=N), which dialects must use in
/// computations. Nullopt: not given.
[[nodiscard]] std::optional<std::int64_t> nodes_of_command_line(const Translation& translation);

/// Sets `timeouts.run` from "7200s" of Google's APIs.
void set_limit(Translation& translation, const LocatedText& duration);

}  // namespace dlaunch::jobfile
