// Jobs that are made of groups of machines or pods: each group has a role, a count, a command and
// variables of its own. Several dialects have such groups; here they become a native job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/dialects/dialect.h"
#include "spec/dialects/foreign_keys.h"
#include "spec/dialects/references.h"

namespace dlaunch::spec {

struct Replicas {
  std::string role;  // of the native job: chief, worker, ps, evaluator
  PlacedNumber count;
  std::vector<PlacedText> command;  // argv; empty: what the image runs by itself
  std::vector<PlacedText> args;     // behind it
  PlacedText image;                 // empty: none
  PlacedText workdir;               // in the image; empty: the image's WORKDIR
  std::vector<EnvVariable> env;
  Place place;
};

/// The words of what a group runs. An image's own program is not known: the words after "--" take
/// its place. Without any the job has no command, which is reported once for all groups.
[[nodiscard]] std::vector<PlacedText> words_of(Translation& translation, const Replicas& replicas);

/// The command as one line of shell text.
[[nodiscard]] std::string line_of(const std::vector<PlacedText>& words);

/// Sets a command: as a list, or as shell text where a word holds variables of its rank.
void set_command(NativeJob& job, const NativeJob::Path& path, const std::vector<PlacedText>& words,
                 Place at);

/// The group's image and where it starts, as the container at `path`.
void set_container(Translation& translation, NativeJob::Path path, const Replicas& group);

/// Sets `roles`, `placement`, `command` and `env` (those that all groups share), and what is a
/// role's own. Groups without a process are left out.
void set_roles(Translation& translation, const std::vector<Replicas>& groups);

/// "[{name: A, value: b}]" of Kubernetes and Vertex AI, with references to earlier ones replaced. A
/// variable that is taken from elsewhere (valueFrom) is passed on from where dlaunch is started.
[[nodiscard]] std::vector<EnvVariable> read_env_list(Translation& translation, ForeignKeys& keys,
                                                     std::string_view name, Spelling spelling);

/// Whether the command line says which image all run in, or that they run in none.
[[nodiscard]] bool is_image_chosen(const Translation& translation);

/// How many nodes the command line asks for (--nnodes, --set nodes=N): what a dialect computes from
/// the number of nodes must come from this one. Nullopt: it says nothing.
[[nodiscard]] std::optional<std::int64_t> nodes_of_command_line(const Translation& translation);

/// "7200s" of Google's APIs as `timeouts.run`.
void set_limit(Translation& translation, const PlacedText& duration);

}  // namespace dlaunch::spec
