// The mode "check": is any node or link slower than the others? First each node alone, then pairs
// in rounds, then what measure/figures/outliers.h requests, finally all good nodes together. While
// some ranks measure, the others wait in Exchange, whose reads block: waiting in MPI or NCCL would
// keep their cores and networks busy. One rank of each node measures; its other ranks join at the
// end.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "measure/collectives/exchange.h"
#include "measure/collectives/machine.h"
#include "measure/collectives/program/mode.h"
#include "measure/collectives/program/node_figures.h"
#include "measure/collectives/program/pair_speed.h"
#include "measure/collectives/program/program.h"
#include "measure/collectives/program/size_walk.h"
#include "measure/figures/check_records.h"
#include "text/strings.h"

namespace dlaunch::collectives {

namespace {

using measure::Pair;

int own_local_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "LOCAL_RANK"}) {
    if (const char* value = std::getenv(name))
      return static_cast<int>(std::strtol(value, nullptr, 10));
  }
  return 0;
}

class Check {
 public:
  explicit Check(Context& context)
      : context_(context),
        team_(context.team),
        world_(context.team.world()),
        began_(Clock::now()),
        budget_s_(static_cast<double>(context.settings.number("budget_ms", 40000)) / 1000) {}

  Status run() {
    Status done = learn();
    if (done.ok()) done = measure_singles();
    if (done.ok()) done = measure_rounds();
    if (done.ok()) done = answer_questions();
    if (done.ok()) done = reduce_together();
    if (done.ok()) done = name_network();
    return done;
  }

 private:
  // ---- which rank is on which node

  Status learn() {
    auto exchange = Exchange::get(std::chrono::minutes(2));
    if (!exchange) return exchange.status();
    exchange_ = *exchange;
    const auto local = team_.gather({static_cast<double>(own_local_rank())});
    if (!local) return local.status();
    const auto machines = team_.gather_text(machine());
    if (!machines) return machines.status();
    for (int rank = 0; rank < team_.size(); ++rank) {
      if ((*local)[static_cast<std::size_t>(rank)] != 0) continue;
      if (rank == team_.rank()) node_ = static_cast<int>(leaders_.size());
      leaders_.push_back(rank);
      machines_.push_back((*machines)[static_cast<std::size_t>(rank)]);
    }
    measured_.nodes = static_cast<int>(leaders_.size());
    if (leaders_.empty() || leaders_.front() != 0)
      return {Code::internal, "rank 0 is not the first rank of its node"};
    return {};
  }
  [[nodiscard]] int nodes() const { return measured_.nodes; }
  [[nodiscard]] int leader_of(int node) const { return leaders_[static_cast<std::size_t>(node)]; }

  /// Waits for all ranks without polling.
  Status meet(const char* what) { return wait(what, "go").status(); }
  /// Likewise; returns whether there is still time, by the clock of rank 0.
  Result<bool> meet_in_time(const char* what, double share, bool is_needed = true) {
    const bool in_time = seconds_since(began_) < share * budget_s_;
    const auto said = wait(what, in_time ? "go" : "skip");
    if (!said) return said.status();
    if (*said != "go" && is_needed) say_out_of_time();
    return *said == "go";
  }
  /// Returns what rank 0 sends. The watchdog is suspended while waiting; the measuring ranks have
  /// theirs.
  Result<std::string> wait(std::string next, const std::string& mine) {
    context_.watchdog.pause();
    auto said = exchange_->broadcast(mine);
    context_.watchdog.begin(std::move(next));
    return said;
  }
  void say_out_of_time() {
    if (!std::exchange(is_late_, true)) write(context_, measure::Record("out_of_time"));
  }
  [[nodiscard]] const std::string& host_of(int node) const {
    return context_.hosts.at(static_cast<std::size_t>(leader_of(node)));
  }

  // ---- each node alone

  measure::Compute single() {
    const NodeSpeed speed = measure_node(context_.watchdog);
    return {node_, speed.gflops, speed.memory_gbs};
  }

  Status measure_singles() {
    constexpr int kPasses = 2;
    measure::Compute best{node_};
    const auto turns = measure::turns_of(machines_);
    for (int pass = 0; pass < kPasses; ++pass) {
      for (const auto& turn : turns) {
        const auto go = meet_in_time("measuring single nodes", kShareOfSingles, pass == 0);
        if (!go) return go.status();
        if (!*go || node_ < 0 || std::find(turn.begin(), turn.end(), node_) == turn.end()) continue;
        const measure::Compute one = single();
        best.compute = std::max(best.compute, one.compute);
        best.memory = std::max(best.memory, one.memory);
      }
    }
    if (Status met = meet("gathering the speeds of the nodes"); !met.ok()) return met;
    const auto all = team_.gather({best.compute, best.memory});
    if (!all) return all.status();
    for (int node = 0; node < nodes(); ++node) {
      const auto at = static_cast<std::size_t>(leader_of(node)) * 2;
      measured_.computes.push_back({node, (*all)[at], (*all)[at + 1]});
      write(context_, record_of(measured_.computes.back()));
    }
    return {};
  }

  // ---- pairs

  /// Called at both ranks of the pair; the first one gets the result.
  Result<measure::Exchange> exchange(Pair pair) {
    const int other = leader_of(node_ == pair.a ? pair.b : pair.a);
    return measure_pair(team_, context_.watchdog,
                        {pair, node_ == pair.a, other,
                         "an exchange between " + host_of(pair.a) + " and " + host_of(pair.b)});
  }

  Status measure_rounds() {
    const int rounds = measure::rounds_for(nodes()) * measure::repeats_for(nodes());
    std::vector<double> mine;  // for each round: speed and latency, if this rank leads a pair
    for (int round = 0; round < rounds; ++round) {
      const auto pairs = measure::pairs_of_round(nodes(), round % measure::rounds_for(nodes()));
      measure::Exchange result;
      for (const auto& part : measure::parts_of(pairs, machines_)) {
        const auto go = meet_in_time("an exchange between two nodes", kShareOfRounds);
        if (!go) return go.status();
        for (const Pair& pair : part) {
          if (!*go || node_ < 0 || (pair.a != node_ && pair.b != node_)) continue;
          const auto measured = exchange(pair);
          if (!measured) return measured.status();
          if (pair.a == node_) result = *measured;
        }
      }
      mine.push_back(result.gbytes_per_s);
      mine.push_back(result.latency_us);
    }
    if (Status met = meet("gathering the results"); !met.ok()) return met;
    const auto all = team_.gather(mine);
    if (!all) return all.status();
    take_rounds(rounds, *all);
    return {};
  }

  void take_rounds(int rounds, const std::vector<double>& all) {
    for (int round = 0; round < rounds; ++round) {
      for (const Pair& pair :
           measure::pairs_of_round(nodes(), round % measure::rounds_for(nodes()))) {
        const auto at =
            (static_cast<std::size_t>(leader_of(pair.a)) * static_cast<std::size_t>(rounds) +
             static_cast<std::size_t>(round)) *
            2;
        if (all[at] <= 0) continue;  // no time was left for it
        measured_.exchanges.push_back({pair, all[at], all[at + 1]});
        write(context_, record_of(measured_.exchanges.back()));
      }
    }
  }

  // ---- repeated alone, as outliers.h requests

  static std::string numbers(const Pair& pair) {
    return ' ' + std::to_string(pair.a) + ' ' + std::to_string(pair.b);
  }

  /// The request of rank 0: "pair a b c d", "node i j", "done".
  Result<std::string> ask() {
    std::string text = "done";
    if (team_.rank() == 0) {
      const auto question = next_question(measured_);
      const bool in_time = seconds_since(began_) < budget_s_;
      if (question && !in_time) say_out_of_time();
      if (question && in_time && question->pair)
        text = "pair" + numbers(*question->pair) + numbers(*question->beside_pair);
      if (question && in_time && question->node)
        text = "node " + std::to_string(*question->node) + ' ' +
               std::to_string(*question->beside_node);
    }
    return wait("a repeated measurement", text);
  }

  Status answer_questions() {
    while (true) {
      const auto asked = ask();
      if (!asked) return asked.status();
      Status done;
      int suspect = 0;
      int beside = 0;
      if (Pair one, other; std::sscanf(asked->c_str(), "pair %d %d %d %d", &one.a, &one.b, &other.a,
                                       &other.b) == 4) {
        done = ask_pairs(one, other);
      } else if (std::sscanf(asked->c_str(), "node %d %d", &suspect, &beside) == 2) {
        done = ask_nodes(suspect, beside);
      } else {
        return {};
      }
      if (!done.ok()) return done;
    }
  }

  /// Sends two numbers from the first rank of a node to rank 0.
  Result<std::vector<double>> report(int node, std::vector<double> numbers) {
    if (Status met = meet("sending a result to rank 0"); !met.ok()) return met;
    const int from = leader_of(node);
    if (from == 0) return numbers;
    if (team_.rank() != 0 && team_.rank() != from) return numbers;
    const Buffer buffer(team_.memory(), 2 * sizeof(double));
    if (buffer.data() == nullptr) return no_memory_for_buffers();
    const std::size_t bytes = 2 * sizeof(double);
    Status done;
    if (team_.rank() == from) {
      done = team_.memory().copy_in(buffer.data(), numbers.data(), bytes);
      if (done.ok()) done = world_.send(buffer.data(), 2, DataType::float64, 0);
      if (done.ok()) done = world_.synchronize();
    } else {
      done = world_.receive(buffer.data(), 2, DataType::float64, from);
      if (done.ok()) done = world_.synchronize();
      if (done.ok()) done = team_.memory().copy_out(numbers.data(), buffer.data(), bytes);
    }
    return done.ok() ? Result<std::vector<double>>(std::move(numbers)) : done;
  }

  Result<measure::Exchange> exchange_alone(Pair pair) {
    measure::Exchange one{pair};
    if (node_ == pair.a || node_ == pair.b) {
      const auto measured = exchange(pair);
      if (!measured) return measured.status();
      one = *measured;
    }
    const auto numbers = report(pair.a, {one.gbytes_per_s, one.latency_us});
    if (!numbers) return numbers.status();
    return measure::Exchange{pair, (*numbers)[0], (*numbers)[1]};
  }

  Status ask_pairs(Pair suspect, Pair beside) {
    const auto one = exchange_alone(suspect);
    if (!one) return one.status();
    const auto other = exchange_alone(beside);
    if (!other) return other.status();
    if (team_.rank() != 0) return {};
    measured_.exchanges_alone.push_back({*one, *other});
    write(context_, record_of(measured_.exchanges_alone.back()));
    return {};
  }

  Result<measure::Compute> single_alone(int node) {
    measure::Compute one{node};
    if (node_ == node) one = single();
    const auto numbers = report(node, {one.compute, one.memory});
    if (!numbers) return numbers.status();
    return measure::Compute{node, (*numbers)[0], (*numbers)[1]};
  }

  Status ask_nodes(int suspect, int beside) {
    const auto one = single_alone(suspect);
    if (!one) return one.status();
    const auto other = single_alone(beside);
    if (!other) return other.status();
    if (team_.rank() != 0) return {};
    measured_.computes_alone.push_back({*one, *other});
    write(context_, record_of(measured_.computes_alone.back()));
    return {};
  }

  // ---- all together

  /// What rank 0 decides: a '1' for each node that takes part.
  Result<std::string> good_ones() {
    std::string good(static_cast<std::size_t>(nodes()), '1');
    if (team_.rank() == 0) {
      for (const measure::SlowNode& slow : find_outliers(measured_).nodes)
        good[static_cast<std::size_t>(slow.node)] = '0';
    }
    constexpr std::size_t kMost = 500;  // limit of Exchange
    std::string all;
    for (std::size_t at = 0; at < good.size(); at += kMost) {
      const auto part = wait("all_reduce", good.substr(at, kMost));
      if (!part) return part.status();
      all += *part;
    }
    return all;
  }

  Status reduce_together() {
    const auto good = good_ones();
    if (!good) return good.status();
    std::vector<int> taking_part;
    for (int node = 0; node < nodes(); ++node) {
      if ((*good)[static_cast<std::size_t>(node)] == '1') taking_part.push_back(node);
    }
    const int node = node_of_rank();
    const bool takes_part = (*good)[static_cast<std::size_t>(node)] == '1';
    auto group = world_.split(takes_part ? 0 : 1, team_.rank());
    if (!group) return group.status();
    measure::AllReduce result;
    if (takes_part && group->size() > 1) {
      if (Status done = reduce_in(*group, result); !done.ok()) return done;
    }
    result.nodes = taking_part;
    // The records are written by rank 0, which may not be in the group.
    const auto numbers =
        report(taking_part.empty() ? 0 : taking_part.front(), {result.busbw_gbs, result.bytes});
    if (!numbers) return numbers.status();
    result.busbw_gbs = (*numbers)[0];
    result.bytes = (*numbers)[1];
    if (result.busbw_gbs > 0) write(context_, record_of(result));
    return meet("the shutdown");
  }

  /// Asks all ranks: a single one that uses sockets decides.
  Status name_network() {
    const measure::NcclNetwork own = measure::parse_nccl_log(nccl_log());
    const auto all = team_.gather_text(own.name + '\n' + own.reason);
    if (!all) return all.status();
    measure::NcclNetwork found;
    for (const std::string& text : *all) {
      std::string_view reason = text;
      const std::string_view name = take_line(reason);
      if (found.name == "Socket" || name.empty()) continue;
      found = {std::string(name), std::string(reason)};
    }
    if (!found.name.empty()) write(context_, record_of(found));
    return {};
  }

  [[nodiscard]] int node_of_rank() const {
    const auto after = std::upper_bound(leaders_.begin(), leaders_.end(), team_.rank());
    return static_cast<int>(after - leaders_.begin()) - 1;
  }

  Status reduce_in(Communicator& group, measure::AllReduce& result) {
    Team together(group, team_.memory());
    const bool leads = group.rank() == 0;
    SizeWalk walk(most_bytes(team_.memory().is_device()), kAllLongEnough);
    Buffer numbers;
    while (true) {
      const auto next = together.max({leads ? static_cast<double>(walk.next()) : 0.0});
      if (!next) return next.status();
      const auto bytes = static_cast<std::size_t>(next->front());
      if (bytes == 0) break;
      if (numbers.size() < bytes) numbers = Buffer(team_.memory(), bytes);
      if (numbers.data() == nullptr) return no_memory_for_buffers();
      // Without it the buffers could hold denormals, which are slow to add.
      if (!team_.memory().is_device()) std::memset(numbers.data(), 0, bytes);
      if (Status met = together.barrier(); !met.ok()) return met;
      const Clock::time_point start = Clock::now();
      Status done = group.all_reduce(numbers.data(), numbers.data(), bytes / sizeof(float),
                                     DataType::float32, ReduceOp::sum);
      if (done.ok()) done = group.synchronize();
      if (!done.ok()) return done;
      context_.watchdog.alive();
      const auto slowest = together.max({seconds_since(start)});
      if (!slowest) return slowest.status();
      walk.took(slowest->front());
    }
    const double ranks = group.size();
    result.bytes = static_cast<double>(walk.bytes());
    result.ranks = group.size();
    result.busbw_gbs = walk.best_bytes_per_second() / 1e9 * 2 * (ranks - 1) / ranks;
    return {};
  }

  static constexpr double kShareOfSingles = 0.3;
  static constexpr double kShareOfRounds = 0.6;
  static constexpr double kAllLongEnough = 0.02;

  Context& context_;
  Team& team_;
  Communicator& world_;
  const Clock::time_point began_;
  const double budget_s_;
  std::shared_ptr<Exchange> exchange_;
  bool is_late_ = false;      // something was skipped for lack of time
  int node_ = -1;             // its node, if this is the node's first rank
  std::vector<int> leaders_;  // first rank of each node
  std::vector<std::string> machines_;
  measure::Measured measured_;  // complete at rank 0
};

}  // namespace

Status check_mode(Context& context) {
  return Check(context).run();
}

}  // namespace dlaunch::collectives
