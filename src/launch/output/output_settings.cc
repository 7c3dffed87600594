#include "launch/output/output_settings.h"

#include <algorithm>
#include <charconv>

#include <unistd.h>

#include "os/terminal.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

// Automatic: with this many ranks or more, a terminal shows equal lines once.
constexpr std::size_t kMergedFrom = 9;

bool is_shown(const Logs& logs, Rank rank) {
  switch (logs.console) {
    case Logs::Console::automatic:
    case Logs::Console::all:
    case Logs::Console::merged:
      return true;
    case Logs::Console::rank0:
      return rank.value == 0;
    case Logs::Console::none:
      return false;
    case Logs::Console::ranks:
      break;
  }
  return std::find(logs.console_ranks.begin(), logs.console_ranks.end(), rank.value) !=
         logs.console_ranks.end();
}

std::size_t number_in(const Environment& environment, const char* name, std::size_t fallback) {
  const auto found = environment.find(name);
  std::size_t number = 0;
  if (found == environment.end()) return fallback;
  const std::string& text = found->second;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && number > 0 && number < 10000 ? number : fallback;
}

}  // namespace

std::optional<LiveTarget> live_target(const Environment& environment) {
  const bool out = terminal_size(STDOUT_FILENO).has_value();
  const bool err = terminal_size(STDERR_FILENO).has_value();
  const bool others_quiet =
      (out || is_out_of_sight(STDOUT_FILENO)) && (err || is_out_of_sight(STDERR_FILENO));
  const auto term = environment.find("TERM");
  if ((!out && !err) || !others_quiet || (term != environment.end() && term->second == "dumb"))
    return std::nullopt;
  LiveTarget target;
  target.stream = err ? Stream::err : Stream::out;  // where progress bars usually go
  target.fd = err ? STDERR_FILENO : STDOUT_FILENO;
  target.fallback = {number_in(environment, "COLUMNS", 80), number_in(environment, "LINES", 24)};
  return target;
}

std::size_t screen_columns(const Environment& environment) {
  constexpr std::size_t kLeast = 40;
  const auto size = terminal_size(STDERR_FILENO);
  if (!size) return kScreenColumns;
  const std::size_t said =
      size->columns > 0 ? size->columns : number_in(environment, "COLUMNS", kScreenColumns);
  return std::max(said, kLeast);
}

bool may_colour(const Environment& environment) {
  const auto no_color = environment.find("NO_COLOR");
  if (no_color != environment.end() && !no_color->second.empty()) return false;
  const auto term = environment.find("TERM");
  return term == environment.end() || term->second != "dumb";
}

OutputRouter::Settings output_settings(const LaunchPlan& plan, const Logs& logs,
                                       const Environment& environment, std::string folder) {
  OutputRouter::Settings settings;
  settings.attempt = plan.attempt;
  settings.folder = std::move(folder);
  std::size_t shown = 0;
  for (const RankPlan& rank : plan.ranks) {
    const bool wanted = is_shown(logs, rank.rank);
    shown += wanted ? 1 : 0;
    settings.labels.push_back(
        wanted ? plan.nodes[rank.node.value].name + ':' + std::to_string(rank.rank.value) : "");
  }
  settings.console.prefix =
      logs.prefix == Logs::Prefix::always || (logs.prefix == Logs::Prefix::automatic && shown > 1);
  const bool on_terminal = ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
  settings.console.colour = on_terminal && may_colour(environment);
  const bool wants_merged =
      logs.console == Logs::Console::merged ||
      (logs.console == Logs::Console::automatic && on_terminal && shown >= kMergedFrom);
  settings.console.merged = wants_merged && shown > 1;
  settings.console.fold_numbers = logs.fold_numbers;
  settings.live = live_target(environment);
  return settings;
}

void follow_only(const LaunchPlan& plan, OutputRouter::Settings& settings) {
  settings.followed.clear();
  for (const RankPlan& rank : plan.ranks) {
    std::string& label = settings.labels[rank.rank.value];
    settings.followed.push_back(!label.empty() && plan.nodes[rank.node.value].is_remote);
    label.clear();
  }
  settings.live.reset();
}

}  // namespace dlaunch
