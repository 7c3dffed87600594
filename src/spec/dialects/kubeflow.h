// Parts of the Kubeflow dialect (training-operator v1, mpi-operator) that its files share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/dialects/replicas.h"

namespace dlaunch::spec::kubeflow {

/// One group of pods.
struct Pods {
  bool is_given = false;
  Replicas replicas;                 // role stays empty
  std::optional<PlacedNumber> port;  // of the container, by the name that the operator looks for
};

/// Reads the group `name` (in any case) of a replica map. `container`: which of its containers
/// counts; else the first. `port`: name of the port that is its master's.
[[nodiscard]] Pods read_pods(Translation& translation, ForeignKeys& specs, std::string_view name,
                             std::string_view container, std::string_view port);

/// What the operator adds to the container: replaces the file's own variables of these names (a
/// note says which), and the references in its command. Call it once for each group that is given.
void add_variables(Translation& translation, Pods& pods, const std::vector<AddedVariable>& added);

/// The program behind the options of an mpirun line, and what they say.
struct MpirunLine {
  std::vector<PlacedText> program;
  std::optional<PlacedNumber> processes;
  std::optional<PlacedNumber> per_node;
  bool oversubscribe = false;
  bool is_horovod = false;
  bool is_hydra = false;  // mpiexec.hydra, by its name
  bool is_by_node =
      false;  // ranks go round the nodes, where else one node's slots are filled first
  bool names_passed = false;  // a list says which variables are passed on, so that others are not
  std::vector<EnvVariable> env;
  std::vector<PlacedText> passed;    // -x NAME
  std::vector<std::string> ignored;  // options that place or connect processes
};

/// Advice for a launcher's command that dlaunch does not understand.
inline constexpr const char* kOrAsItIs =
    "; or run the command as it is, once, with the hosts in a hostfile: --set launch=once";

/// Whether a command's first word, with or without a folder, is mpirun, mpiexec, mpiexec.hydra or
/// horovodrun.
[[nodiscard]] bool starts_ranks(std::string_view word);

/// Nullopt: the line starts no program by mpirun, mpiexec or horovodrun, or has an option that is
/// not known, which was reported at `place`.
[[nodiscard]] std::optional<MpirunLine> read_mpirun_line(Translation& translation,
                                                         const std::vector<PlacedText>& words,
                                                         Place place);

void translate_pytorch_job(Translation& translation, ForeignKeys& spec);
void translate_tf_job(Translation& translation, ForeignKeys& spec);
void translate_mpi_job(Translation& translation, ForeignKeys& spec);

}  // namespace dlaunch::spec::kubeflow
