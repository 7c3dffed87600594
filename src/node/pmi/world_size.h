// The size of the world that an MPI program has made over PMI-1. Pure.
//
// No message of PMI-1 states it: the library takes PMI_SIZE from its environment, 1 if it is not
// set. But a library whose world has several ranks first asks which of them share a node, and one
// whose world has a single rank never asks for data of others (MPICH, src/util/mpir_pmi.c,
// build_nodemap; MPICH 3, 4.0, 5 and Intel MPI behave alike). Barriers prove nothing: a world of
// one enters them too.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dlaunch::pmi {

/// Whether the line asks for data about other ranks of its world: the process mapping, or what a
/// rank has put. Ranks of worlds of any size ask for Hydra's own keys (PMI_hwloc_xmlfile,
/// universeSize).
[[nodiscard]] bool asks_of_others(std::string_view line);

/// PMI_SIZE in the text of /proc/PID/environ; 1 if it is not set. nullopt: the text is empty (it
/// could not be read), or PMI_SIZE is not a number.
[[nodiscard]] std::optional<std::uint32_t> declared_size(std::string_view block);

/// The size of the world if it differs from the job's. `declared`: from the environment with which
/// the program was started. The program may have changed its environment since, so what it asks for
/// takes precedence.
[[nodiscard]] std::optional<std::uint32_t> other_world(bool asked_of_others,
                                                       std::optional<std::uint32_t> declared,
                                                       std::uint32_t planned);

}  // namespace dlaunch::pmi
