// Strong ids: the compiler distinguishes ranks, local ranks, nodes and positions of nodes.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace dlaunch {

template <class Tag>
struct Id {
  std::uint32_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t v) : value(v) {}
  // clang-tidy 14 mistakes the zero in the generated code for a null pointer.
  auto operator<=>(const Id&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Global rank, 0 .. world size - 1. With `launch: per-node`, the rank of a node's only process is
/// the node's number.
using Rank = Id<struct RankTag>;
/// Index of a process on its node, 0 .. local world size - 1.
using LocalRank = Id<struct LocalRankTag>;
/// A node of a run, for as long as the run lasts: nodes get their numbers in the order of the host
/// list, later ones as they join, and no number is reused.
using NodeId = Id<struct NodeTag>;
/// Position of a node in a plan or in the set of nodes for a plan, 0 .. nodes - 1; torchrun calls
/// it the node rank. Another node may have it in the next attempt.
using NodeRank = Id<struct NodeRankTag>;
/// One incarnation of all ranks; 0 is the first, each restart adds one.
using Attempt = Id<struct AttemptTag>;

/// stdout and stderr of a rank, numbered as their descriptors.
enum class Stream : std::uint8_t { out = 1, err = 2 };

}  // namespace dlaunch

template <class Tag>
struct std::hash<dlaunch::Id<Tag>> {
  std::size_t operator()(dlaunch::Id<Tag> id) const noexcept {
    return std::hash<std::uint32_t>{}(id.value);
  }
};
