// Declarations shared by the files of the Kubeflow dialect (training-operator v1, mpi-operator).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/dialects/replicas.h"

namespace dlaunch::jobfile::kubeflow {

/// One group of pods.
struct Pods {
  bool is_given = false;
  Replicas replicas;                 // role stays empty
  std::optional<LocatedNumber> port;  // the container's port with the name that the operator uses
};

/// Reads the group `name` (in any case) of a replica map. `container`: the container that the
/// operator uses; otherwise the first. `port`: name of the master's port.
[[nodiscard]] Pods read_pods(Translation& translation, ForeignKeys& specs, std::string_view name,
                             std::string_view container, std::string_view port);

/// Reads the container of a pod's spec: the one called `container`, otherwise the first. `owner`:
/// the pod's owner, for an error. `port`: as above. `meanings`: as for read_env_list().
void read_pod(Translation& translation, ForeignKeys& pod, std::string_view owner,
              std::string_view container, std::string_view port, Pods& pods,
              const FieldMeanings& meanings = {});

/// Pods that are nodes of the job, with the command that each of them runs.
struct PodGroup {
  Replicas replicas;
  std::vector<LocatedText> words;
  std::vector<std::string> setup{};  // "NAME=\"$(...)\"": exported where this group's nodes run
};

/// Sets `command` and `env` of a job whose nodes are the pods of the groups, in their order: one
/// command, or a shell command that tests the node's index. The words after "--" go to all of them.
/// `needs_shell`: the job has a setup.
void set_group_commands(Translation& translation, std::vector<PodGroup>& groups, bool needs_shell);

/// Sets the image of a job without roles, which has only one; reports an error if the groups'
/// images differ. `what`: "a PyTorchJob"; `first`, `other`: the names of the groups: "master",
/// "workers".
void set_group_image(Translation& translation, const std::vector<PodGroup>& groups,
                     const std::string& what, const std::string& first, const std::string& other);

/// Applies the variables that the operator adds to the container: replaces the file's own variables
/// of these names (with a note) and the references in its command. Call it once for each given
/// group.
void add_variables(Translation& translation, Pods& pods, const std::vector<AddedVariable>& added);

/// The program after the options of an mpirun line, and the options' meaning.
struct MpirunLine {
  std::vector<LocatedText> program;
  std::optional<LocatedNumber> processes;
  std::optional<LocatedNumber> per_node;
  bool oversubscribe = false;
  bool is_horovod = false;
  bool is_hydra = false;  // mpiexec.hydra, by its name
  bool is_by_node =
      false;  // ranks alternate between the nodes instead of filling one node's slots first
  bool names_passed = false;  // a list selects the variables to pass on; others are not passed
  std::vector<EnvVariable> env;
  std::vector<LocatedText> passed;   // -x NAME
  std::vector<std::string> ignored;  // options that place or connect processes
};

/// Advice for a launcher's command that dlaunch cannot interpret.
inline constexpr const char* kOrAsItIs =
    "; or run the command as it is, once, with the hosts in a hostfile: --set launch=once";

/// Whether a command's first word is mpirun, mpiexec, mpiexec.hydra or horovodrun, with or without
/// a folder.
[[nodiscard]] bool starts_ranks(std::string_view word);

/// The words of the mpirun line inside `sh -c "..."`, or `words` if there is no shell; nullopt: the
/// shell's command is not a single mpirun line; this was reported.
[[nodiscard]] std::optional<std::vector<LocatedText>> without_shell(
    Translation& translation, const std::vector<LocatedText>& words);

/// Reads an mpirun line. Nullopt: the line does not start a program by mpirun, mpiexec or
/// horovodrun, or has an unknown option; this was reported at `range`.
[[nodiscard]] std::optional<MpirunLine> read_mpirun_line(Translation& translation,
                                                         const std::vector<LocatedText>& words,
                                                         SourceRange range);

void translate_pytorch_job(Translation& translation, ForeignKeys& spec);
void translate_mpi_job(Translation& translation, ForeignKeys& spec);

}  // namespace dlaunch::jobfile::kubeflow
