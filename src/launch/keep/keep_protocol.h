// The messages between a keeper and other processes of its user: packets over a unix socket in the
// user's folder of this machine.
//
// The first packet of a keeper is text, which every build understands: keeper_greeting(). A process
// that finds a keeper of another build says kGoAway and nothing else. All other packets are values
// of wire/value.h. When the connection between a run and the keeper ends, the keeper closes the
// kept connections that the run has not given back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wire/fields.h"
#include "wire/value.h"

namespace dlaunch {

inline constexpr std::size_t kMostKeepPacket = std::size_t{64} << 10;
/// Another build of dlaunch takes over: give up all nodes; those in use, once they are free.
inline constexpr std::string_view kGoAway = "go away";

[[nodiscard]] std::string keeper_greeting(const std::string& build_id);
/// The build id; nullopt: the packet is not a keeper's greeting.
[[nodiscard]] std::optional<std::string> read_keeper_greeting(std::string_view packet);

// ---- to the keeper

/// A run wants these nodes, as target_key() names them. -> Lent or NotLent for each
struct WantNodes {
  std::string run;          // its id; empty: plan or check
  bool lends = true;        // false: the run only asks which of them are kept
  std::uint32_t first = 0;  // number of the first node; answers name these numbers
  std::vector<std::string> keys;
};
/// The run is done with the node, whose agent waits for another Hello.
struct GiveBack {
  std::uint32_t number = 0;
};
/// -> KeptList
struct ListNodes {};
/// Gives these hosts up; none: all. -> GivenUp
struct GiveUp {
  std::vector<std::string> hosts;
};
using ToKeeper = std::variant<WantNodes, GiveBack, ListNodes, GiveUp>;

// ---- from the keeper

/// Comes with two descriptors: one for what the agent sends, one for what is sent to it.
struct Lent {
  std::uint32_t number = 0;
};
struct NotLent {
  std::uint32_t number = 0;
  bool is_known = false;  // the keeper has this node
  std::string why;        // if known: "gpu3 is used by run ..."
};
struct KeptRow {
  std::string name;
  std::string state;         // "idle", "in use", "connecting", "reconnecting"
  std::string run;           // in use: by which run
  std::uint64_t for_ms = 0;  // in this state
  std::string trouble;       // reconnecting: why
  bool was_asked = false;    // the fields below are set
  std::uint32_t load_hundredths = 0;
  std::vector<std::string> findings;  // what is wrong with its GPUs
};
struct KeptList {
  std::uint64_t pid = 0;       // of the keeper
  std::uint64_t left_ms = 0;   // until the idle limit
  std::vector<KeptRow> nodes;  // in the order of their hosts
  bool last = true;            // no further packet follows
};
struct GivenUp {
  std::uint32_t nodes = 0;   // hosts that are given up
  std::uint32_t in_use = 0;  // of these hosts; given up when their runs are done
  bool is_empty = false;     // the keeper ends
};
using FromKeeper = std::variant<Lent, NotLent, KeptList, GivenUp>;

namespace wire {

template <>
inline constexpr auto kFields<WantNodes> =
    std::tuple{field("run", &WantNodes::run), field("lends", &WantNodes::lends),
               field("first", &WantNodes::first), field("keys", &WantNodes::keys)};
template <>
inline constexpr auto kFields<GiveBack> = std::tuple{field("number", &GiveBack::number)};
template <>
inline constexpr auto kFields<ListNodes> = std::tuple{};
template <>
inline constexpr auto kFields<GiveUp> = std::tuple{field("hosts", &GiveUp::hosts)};
template <>
inline constexpr auto kFields<Lent> = std::tuple{field("number", &Lent::number)};
template <>
inline constexpr auto kFields<NotLent> =
    std::tuple{field("number", &NotLent::number), field("is_known", &NotLent::is_known),
               field("why", &NotLent::why)};
template <>
inline constexpr auto kFields<KeptRow> =
    std::tuple{field("name", &KeptRow::name),
               field("state", &KeptRow::state),
               field("run", &KeptRow::run),
               field("for_ms", &KeptRow::for_ms),
               field("trouble", &KeptRow::trouble),
               field("was_asked", &KeptRow::was_asked),
               field("load_hundredths", &KeptRow::load_hundredths),
               field("findings", &KeptRow::findings)};
template <>
inline constexpr auto kFields<KeptList> =
    std::tuple{field("pid", &KeptList::pid), field("left_ms", &KeptList::left_ms),
               field("nodes", &KeptList::nodes), field("last", &KeptList::last)};
template <>
inline constexpr auto kFields<GivenUp> =
    std::tuple{field("nodes", &GivenUp::nodes), field("in_use", &GivenUp::in_use),
               field("is_empty", &GivenUp::is_empty)};

}  // namespace wire

}  // namespace dlaunch
