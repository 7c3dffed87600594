#include "scenario.h"

#include <algorithm>
#include <array>
#include <csignal>

namespace dlaunch::sim {
namespace {

using namespace std::chrono_literals;

/// The character of a run: most have one kind of trouble, some have all of them.
struct Mood {
  double rank_fails = 0;
  double cannot_start = 0;
  double node_dies = 0;
  double bad_connect = 0;
  double never_empties = 0;
  double interrupted = 0;
  bool all_at_once = false;  // every rank fails within a millisecond
  double port_taken = 0;     // of rank 0
};

Mood draw_mood(Dice& dice, double nodes, double ranks) {
  Mood mood;
  if (dice.chance(0.15)) mood.port_taken = 0.6;
  switch (dice.between(0, 9)) {
    case 0:
      break;  // no trouble
    case 1:
      mood.rank_fails = 1.5 / ranks;
      break;
    case 2:
      mood.rank_fails = 0.5;
      break;
    case 3:
      mood.all_at_once = true;
      break;
    case 4:
      mood.cannot_start = 1.5 / ranks;
      break;
    case 5:
      mood.node_dies = 1.5 / nodes;
      break;
    case 6:
      mood.bad_connect = 0.5 / nodes;
      break;
    case 7:
      mood.interrupted = 1;
      break;
    case 8:
      mood.never_empties = 0.5 / nodes;
      break;
    default:
      mood = {1.0 / ranks, 0.3 / ranks, 0.7 / nodes, 0.05 / nodes, 0.5 / nodes, 0.6, false, 0.1};
  }
  return mood;
}

SupervisorConfig draw_config(Dice& dice, std::uint32_t nodes) {
  SupervisorConfig config;
  config.nodes.clear();
  for (std::uint32_t i = 0; i < nodes; ++i) config.nodes[NodeId{i}] = "";
  config.stop_signal = dice.chance(0.8) ? SIGTERM : SIGUSR1;
  config.stop_grace = std::array<Duration, 4>{0ms, 200ms, 5s, 30s}[dice.between(0, 3)];
  if (dice.chance(0.3)) config.run_limit = Duration(dice.between(1, 100'000));
  config.connect_limit = 30s;
  config.return_limit = std::array<Duration, 3>{1s, 30s, 5min}[dice.between(0, 2)];
  config.end_limit = dice.chance(0.5) ? 10s : 1s;
  if (dice.chance(0.2)) config.stragglers_limit = Duration(dice.between(0, 20'000));
  return config;
}

RestartPolicy draw_policy(Dice& dice) {
  RestartPolicy policy;
  policy.max = static_cast<int>(dice.between(1, 4));
  policy.backoff_min = std::array<Duration, 3>{0ms, 10ms, 5s}[dice.between(0, 2)];
  policy.backoff_max = dice.chance(0.5) ? 5min : policy.backoff_min * dice.between(1, 5);
  policy.reset_after = std::array<Duration, 3>{1ms, 10s, 600s}[dice.between(0, 2)];
  if (dice.chance(0.1)) policy.on = {RestartCause::hang};
  if (dice.chance(0.1)) policy.on = {RestartCause::failure};
  for (int code = 1; code < 100 && dice.chance(0.5); code += 7) policy.not_on_exit.push_back(code);
  return policy;
}

/// Rank 0 or the first half decide; the others then often run until they are stopped.
void draw_success(Dice& dice, Scenario& s) {
  const std::size_t deciding = dice.chance(0.5) ? 1 : (s.ranks.size() + 1) / 2;
  s.decides.assign(s.ranks.size(), false);
  std::fill_n(s.decides.begin(), deciding, true);
  for (std::size_t i = deciding; i < s.ranks.size(); ++i) {
    if (dice.chance(0.5)) s.ranks[i].runs_for = MonotonicTime::max();
  }
}

/// Its own end. Never one that looks like our signals: with different clocks, no observer could
/// tell.
ExitStatus draw_failure(Dice& dice) {
  if (dice.chance(0.7)) return {false, static_cast<int>(dice.between(1, 100)), false};
  return {true, dice.chance(0.5) ? SIGSEGV : SIGABRT, true};
}

RankFate draw_rank(Dice& dice, const Mood& mood, const SupervisorConfig& config, NodeId node,
                   MonotonicTime all_end_at) {
  RankFate rank;
  rank.node = node;
  rank.cannot_start = dice.chance(mood.cannot_start);
  rank.runs_for = dice.time(all_end_at / 2, all_end_at);
  if (mood.all_at_once) {
    rank.runs_for = all_end_at + dice.time(0us, 1ms);
    rank.status = draw_failure(dice);
  } else if (dice.chance(mood.rank_fails)) {
    rank.runs_for = dice.time(0us, all_end_at);
    rank.status = draw_failure(dice);
  } else if (config.run_limit && dice.chance(0.02)) {
    rank.runs_for = MonotonicTime::max();
  }
  rank.ignores_stop = dice.chance(0.05);
  rank.stop_takes = dice.chance(0.8) ? dice.time(0us, 1ms) : dice.time(1ms, 20s);
  rank.stop_status = {true, config.stop_signal, false};
  if (dice.chance(0.3)) rank.stop_status = {false, dice.chance(0.5) ? 0 : 1, false};
  return rank;
}

/// Most ranks end with it, because its daemons' connections are gone; some exit normally.
void draw_mpirun(Dice& dice, std::vector<RankFate>& ranks) {
  for (RankFate& rank : ranks) {
    rank.never_begins = dice.chance(0.2 / static_cast<double>(ranks.size()));
    rank.outlives_mpirun = dice.chance(0.1);
    rank.left_takes = dice.time(0us, 800ms);
    rank.left_status = dice.chance(0.3) ? ExitStatus{} : ExitStatus{false, 1, false};
    if (dice.chance(0.3)) rank.left_status = {true, SIGTERM, false};
  }
}

MpirunFate draw_mpirun_fate(Dice& dice, MonotonicTime all_end_at) {
  MpirunFate mpirun;
  if (dice.chance(0.6)) mpirun.dies_at = dice.time(0us, all_end_at);
  if (dice.chance(0.6)) mpirun.status = draw_failure(dice);
  mpirun.ignores_stop = dice.chance(0.1);
  mpirun.end_takes = dice.chance(0.9) ? dice.time(0us, 5ms) : dice.time(1ms, 12s);
  return mpirun;
}

/// Usually one; a dead node may return, soon or after minutes, and die again, perhaps while
/// returning.
std::vector<Death> draw_deaths(Dice& dice, MonotonicTime all_end_at) {
  std::vector<Death> deaths;
  MonotonicTime at = dice.time(0ns, all_end_at + 30s);
  do {
    Death death;
    death.at = at;
    death.cut = dice.chance(0.3);
    death.seen_after = dice.chance(0.5) ? dice.time(10us, 1ms) : MonotonicTime(15s);
    if (dice.chance(0.7)) {
      death.returns_after = dice.chance(0.5) ? dice.time(0ns, 20s) : dice.time(20s, 200s);
    }
    deaths.push_back(death);
    at += dice.time(0ns, 60s);
  } while (dice.chance(0.3) && deaths.size() < 4);
  return deaths;
}

NodeFate draw_node(Dice& dice, const Mood& mood, std::chrono::nanoseconds worst_clock,
                   MonotonicTime all_end_at) {
  NodeFate node;
  node.connect_takes = dice.chance(0.9) ? dice.time(1ms, 500ms) : dice.time(500ms, 20s);
  if (dice.chance(mood.bad_connect)) {
    node.connect = dice.chance(0.5) ? NodeFate::Connect::refuses : NodeFate::Connect::silent;
  }
  node.latency = dice.chance(0.9) ? dice.time(5us, 2ms) : dice.time(2ms, 300ms);
  // One node's clock may be known precisely, another one's poorly.
  node.clock_error = dice.time(0ns, worst_clock);
  node.clock_offset = dice.time(0ns, 2 * node.clock_error) - node.clock_error;
  if (dice.chance(mood.node_dies)) node.deaths = draw_deaths(dice, all_end_at);
  node.never_empties = dice.chance(mood.never_empties);
  node.emptying_takes = dice.chance(0.95) ? dice.time(0us, 5ms) : dice.time(5ms, 12s);
  if (dice.chance(0.2)) node.leftovers = static_cast<std::uint32_t>(dice.between(1, 9));
  return node;
}

std::vector<Interruption> draw_interruptions(Dice& dice, MonotonicTime all_end_at) {
  constexpr std::array kSignals = {0, SIGHUP, SIGINT, SIGINT, SIGQUIT, SIGTERM};
  std::vector<Interruption> result;
  MonotonicTime at = dice.time(0ns, all_end_at + 2s);
  for (std::uint64_t i = dice.between(1, 3); i > 0; --i) {
    result.push_back({at, kSignals[dice.between(0, kSignals.size() - 1)]});
    at += dice.time(0ns, 3s);
  }
  return result;
}

}  // namespace

bool Scenario::waits_for_nodes() const {
  const auto& on = config.restart.on;
  return config.restart.max > 0 &&
         std::find(on.begin(), on.end(), RestartCause::node_loss) != on.end();
}

bool Scenario::clocks_are_exact() const {
  return std::all_of(nodes.begin(), nodes.end(),
                     [](const NodeFate& node) { return node.clock_error.count() == 0; }) &&
         !has_clock_steps();
}

const std::vector<RankFate>& Scenario::ranks_of(Attempt attempt) const {
  if (attempt.value == 0 || later.empty()) return ranks;
  return later[std::min<std::size_t>(attempt.value, later.size()) - 1];
}

bool Scenario::mpirun_may_die_in(Attempt attempt) const {
  return mpirun && (attempt.value == 0 || attempt.value < later.size());
}

MonotonicTime Scenario::longest_attempt() const {
  MonotonicTime run{};
  for (std::uint32_t attempt = 0; attempt <= later.size(); ++attempt) {
    for (const RankFate& rank : ranks_of(Attempt{attempt})) {
      if (rank.runs_for != MonotonicTime::max()) run = std::max(run, rank.runs_for);
    }
  }
  for (const TakenAway& notice : notices) run += notice.left.value_or(Duration(0));
  if (config.run_limit) run = std::max(run, MonotonicTime(*config.run_limit));
  for (const Interruption& i : interruptions) run = std::max(run, i.at);
  // All ranks must start; then a rank and mpirun may each take their time.
  if (mpirun) run += 2 * config.connect_limit + 3 * config.end_limit + kGivenUp;
  // Each loss may have a complete wait of its own, with tries that end at any time.
  if (waits_for_nodes()) {
    for (const NodeFate& node : nodes)
      run += static_cast<int>(node.deaths.size()) * (config.return_limit + 60s);
  }
  run += longest_disturbance();
  // connect, plan, then the ranks; then grace, kill, given up; or a node's death seen late instead.
  return 2 * MonotonicTime(config.connect_limit) + run + config.stop_grace + 2 * config.end_limit +
         30s;
}

Scenario draw_scenario(std::uint64_t seed, std::uint32_t max_ranks) {
  Dice dice(seed);
  Scenario s;
  s.seed = seed;
  std::uint64_t world = 1;
  while (world < max_ranks && dice.chance(0.85)) world *= 2;
  world = std::min<std::uint64_t>(dice.between((world + 1) / 2, world), max_ranks);
  const std::uint64_t per_node = std::array<std::uint64_t, 4>{1, 4, 8, 64}[dice.between(0, 3)];
  const std::uint64_t used = (world + per_node - 1) / per_node;
  const std::uint64_t nodes = used + (dice.chance(0.2) ? dice.between(1, 3) : 0);

  const Mood mood = draw_mood(dice, static_cast<double>(nodes), static_cast<double>(world));
  s.config = draw_config(dice, static_cast<std::uint32_t>(nodes));
  s.plan_fails = dice.chance(0.02);
  s.launcher_lag = dice.chance(0.5) ? MonotonicTime(0) : MonotonicTime(5ms);
  if (dice.chance(0.3)) s.duplicates = s.strays = 0.05;
  const MonotonicTime all_end_at = dice.time(1ms, 60s);
  const auto draw_ranks = [&](const Mood& how) {
    std::vector<RankFate> ranks;
    for (std::uint64_t i = 0; i < world; ++i) {
      const NodeId node{static_cast<std::uint32_t>(i / per_node)};
      ranks.push_back(draw_rank(dice, how, s.config, node, all_end_at));
    }
    if (dice.chance(how.port_taken)) {
      ranks[0].port_taken = true;
      ranks[0].runs_for = dice.time(0us, all_end_at / 2);
      ranks[0].status = {false, 1, false};
    }
    return ranks;
  };
  s.ranks = draw_ranks(mood);
  if (dice.chance(0.4)) {
    s.config.restart = draw_policy(dice);
    s.config.port_retries = dice.chance(0.5) ? 3 : 0;
  }
  if (s.config.restart.max > 0 || s.config.port_retries > 0) {
    for (std::uint64_t i = dice.between(0, 4); i > 0; --i) {
      s.later.push_back(draw_ranks(dice.chance(0.7) ? mood : Mood()));
    }
    s.later.push_back(draw_ranks(Mood()));
  }
  if (dice.chance(0.2)) draw_success(dice, s);
  const auto worst_clock = dice.chance(0.5) ? dice.time(1us, 10ms) : MonotonicTime(0);
  for (std::uint64_t i = 0; i < nodes; ++i)
    s.nodes.push_back(draw_node(dice, mood, worst_clock, all_end_at));
  if (dice.chance(0.25)) {
    s.mpirun = draw_mpirun_fate(dice, all_end_at);
    draw_mpirun(dice, s.ranks);
    for (auto& ranks : s.later) {
      if (&ranks != &s.later.back()) draw_mpirun(dice, ranks);
    }
  }
  if (dice.chance(mood.interrupted)) s.interruptions = draw_interruptions(dice, all_end_at);
  while (dice.chance(0.7) && s.signs.size() < 20) {
    Sign sign{dice.time(0ns, 2 * all_end_at), {}, {}};
    if (dice.chance(0.3)) sign.silence = Duration(dice.between(0, 5'000));
    if (dice.chance(0.5)) sign.step = dice.between(0, 50);
    s.signs.push_back(sign);
  }
  while (dice.chance(0.15) && s.hangs.size() < 3)
    s.hangs.push_back(dice.time(0ns, 2 * all_end_at));
  while (nodes == used && dice.chance(0.1) && s.notices.size() < 3) {
    TakenAway notice{dice.time(0ns, 2 * all_end_at), NodeId{static_cast<std::uint32_t>(dice.between(0, nodes - 1))}, {}};
    if (dice.chance(0.7)) notice.left = Duration(dice.between(0, 60'000));
    s.notices.push_back(notice);
  }
  draw_disturbances(s, all_end_at);
  return s;
}

Scenario draw_spares_scenario(std::uint64_t seed) {
  constexpr std::uint32_t kMaxRanks = 64;
  Scenario s = draw_scenario(seed, kMaxRanks);
  Dice dice(seed ^ 0x5bd1e995);
  const auto nodes = static_cast<std::uint32_t>(dice.between(2, dice.chance(0.8) ? 8 : 64));
  const auto worst_clock = s.clocks_are_exact() ? MonotonicTime(0) : MonotonicTime(1ms);
  Mood mood;
  mood.node_dies = dice.chance(0.5) ? 1.5 / nodes : 0.7;
  if (dice.chance(0.2)) mood.bad_connect = 1.0 / nodes;
  if (dice.chance(0.1)) mood.never_empties = 0.5 / nodes;
  s.config.nodes.clear();
  s.nodes.clear();
  for (std::uint32_t n = 0; n < nodes; ++n) {
    s.config.nodes[NodeId{n}] = "";
    s.nodes.push_back(draw_node(dice, mood, worst_clock, 60s));
  }
  draw_disturbances(s, 60s);
  const auto most = std::min<std::uint64_t>(nodes, s.ranks.size());
  s.config.nodes_wanted = static_cast<std::uint32_t>(dice.between(1, most));
  s.config.nodes_needed = static_cast<std::uint32_t>(dice.between(1, s.config.nodes_wanted));
  s.config.restart = draw_policy(dice);
  s.config.restart.exclude_bad_nodes = Dice(seed ^ 0x9e3779b1).chance(0.2);
  if (s.later.empty()) {
    s.later.push_back(s.ranks);
    for (RankFate& rank : s.later.back()) {
      rank.cannot_start = rank.port_taken = false;
      rank.status = {};
      rank.runs_for = std::min<MonotonicTime>(rank.runs_for, 60s);
    }
  }
  s.mpirun.reset();
  s.plan_fails = false;
  s.notices.clear();
  while (dice.chance(0.3) && s.notices.size() < 3) {
    TakenAway notice{dice.time(0ns, 90s), NodeId{static_cast<std::uint32_t>(dice.between(0, nodes - 1))}, {}};
    if (dice.chance(0.7)) notice.left = Duration(dice.between(0, 60'000));
    s.notices.push_back(notice);
  }
  return s;
}

}  // namespace dlaunch::sim
