#include "node/containers/entry_protocol.h"

#include <array>
#include <tuple>
#include <utility>

#include "wire/value.h"

namespace dlaunch {

namespace wire {

template <>
inline constexpr auto kFields<EntryOrder> =
    std::tuple{field("argv", &EntryOrder::argv),
               field("is_own_shell", &EntryOrder::is_own_shell),
               field("has_pmi", &EntryOrder::has_pmi),
               field("has_terminal", &EntryOrder::has_terminal),
               field("workdir", &EntryOrder::workdir),
               field("defaults", &EntryOrder::defaults),
               field("variables", &EntryOrder::variables),
               field("cpus", &EntryOrder::cpus, kCpu),
               field("open_files", &EntryOrder::open_files),
               field("open_files_hard", &EntryOrder::open_files_hard)};

template <>
inline constexpr auto kFields<EntryArrived> = std::tuple{field("rank", &EntryArrived::rank, kRank)};

template <>
inline constexpr auto kFields<EntryStarted> = std::tuple{field("pid", &EntryStarted::pid, kPid)};

template <>
inline constexpr auto kFields<BesideOrder> =
    std::tuple{field("request", &BesideOrder::request), field("defaults", &BesideOrder::defaults)};

template <>
inline constexpr auto kFields<BesideStarted> =
    std::tuple{field("id", &BesideStarted::id), field("pid", &BesideStarted::pid, kPid)};

template <>
inline constexpr auto kFields<EntryDemand> = std::tuple{
    field("kind", &EntryDemand::kind), field("signal", &EntryDemand::signal, {0, kSignal.max}),
    field("leader", &EntryDemand::leader, {0, kPid.max})};

template <>
inline constexpr auto kNamesOf<EntryDemand::Kind> =
    std::array<std::pair<EntryDemand::Kind, std::string_view>, 6>{
        {{EntryDemand::Kind::order, "order"},
         {EntryDemand::Kind::signal, "signal"},
         {EntryDemand::Kind::pass, "pass"},
         {EntryDemand::Kind::kill, "kill"},
         {EntryDemand::Kind::beside, "beside"},
         {EntryDemand::Kind::session, "session"}}};

}  // namespace wire

std::string encode(const EntryOrder& order) {
  return wire::encode_value(order);
}

std::optional<EntryOrder> decode_order(std::string_view bytes) {
  auto order = wire::decode_value<EntryOrder>(bytes);
  return order && !order->argv.empty() ? std::move(order) : std::nullopt;
}

std::string encode(const BesideOrder& order) {
  return wire::encode_value(order);
}

std::optional<BesideOrder> decode_beside(std::string_view bytes) {
  auto order = wire::decode_value<BesideOrder>(bytes);
  return order && !order->request.argv.empty() ? std::move(order) : std::nullopt;
}

std::string encode(const EntryNews& news) {
  return wire::encode_value(news);
}

std::optional<EntryNews> decode_news(std::string_view bytes) {
  return wire::decode_variant<EntryNews>(bytes);
}

std::string encode(const EntryDemand& demand) {
  return wire::encode_value(demand);
}

std::optional<EntryDemand> decode_demand(std::string_view bytes) {
  return wire::decode_value<EntryDemand>(bytes);
}

}  // namespace dlaunch
