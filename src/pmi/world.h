// How large the world is that an MPI program which starts by PMI-1 has made. Pure.
//
// No message of PMI-1 says it: the library takes PMI_SIZE from its environment, and 1 where there
// is none. But one whose world has several ranks asks which of them are neighbours before it does
// anything else, and one whose world has a single rank never asks for anything that others have
// (MPICH, src/util/mpir_pmi.c, build_nodemap; so do MPICH 3, 4.0, 5 and Intel MPI). Barriers tell
// nothing: a world of one comes to one, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dlaunch::pmi {

/// A line by which a program asks for what the ranks of a world have of each other: the mapping, or
/// what a rank has put. Hydra's own keys (PMI_hwloc_xmlfile, universeSize) are asked for by any.
[[nodiscard]] bool asks_of_others(std::string_view line);

/// PMI_SIZE in what /proc/PID/environ holds; 1: it is not set. nullopt: the block is empty, as when
/// it could not be read, or PMI_SIZE is no number.
[[nodiscard]] std::optional<std::uint32_t> declared_size(std::string_view block);

/// The size of the world, where it is not the job's. `declared`: as the program was started; it may
/// have set its environment itself since, so what it asks for counts for more.
[[nodiscard]] std::optional<std::uint32_t> other_world(bool asked_of_others,
                                                       std::optional<std::uint32_t> declared,
                                                       std::uint32_t planned);

}  // namespace dlaunch::pmi
