#include "digest.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "attempts.h"

namespace dlaunch::sim {
namespace {

class Reader {
 public:
  explicit Reader(const Trace& trace) : trace_(trace), config_(trace.scenario.config) {
    d_.nodes.resize(trace.scenario.nodes.size());
    members_ = trace.members;
    for (std::size_t n = 0; n < d_.nodes.size(); ++n) {
      const Membership& member = members_[n];
      d_.nodes[n].up = member.tried;
      d_.nodes[n].left = member.gone || member.joins;
    }
    asked_.resize(d_.nodes.size());
    d_.ranks.resize(trace.scenario.ranks.size());
    running_on_.resize(d_.nodes.size());
    for (const RankFate& rank : trace.scenario.ranks) {
      ++d_.nodes[rank.node.value].ranks;
      ++running_on_[rank.node.value];
    }
    running_ = d_.ranks.size();
    has_begun_.resize(d_.ranks.size());
    decides_ = trace.scenario.decides;
    decides_.resize(d_.ranks.size(), trace.scenario.decides.empty());
    waits_ = trace.scenario.has_spares() ||
             (trace.attempt.value > 0 && trace.scenario.waits_for_nodes());
    deciding_left_ = std::count(decides_.begin(), decides_.end(), true);
  }

  Digest read() {
    for (i_ = 0; i_ < trace_.steps.size(); ++i_) {
      const StepRecord& step = trace_.steps[i_];
      if (!finished_ && step.event) {
        dlaunch::sim::note(*step.event, members_);
        std::visit([this](const auto& e) { see(e); }, *step.event);
        see_limits(step.now);
        see_end();
      }
      for (const Action& action : step.actions) {
        std::visit([this](const auto& a) { note(a); }, action);
        dlaunch::sim::note(action, members_);
      }
    }
    return std::move(d_);
  }

 private:
  // ---- actions

  NodeDigest& node(NodeId n) { return d_.nodes.at(n.value); }
  void note(const action::ConnectNode& a) {
    if (!members_[a.node.value].gone) node(a.node).connected.push_back(i_);
    node(a.node).up = true;
  }
  void note(const action::GatherFacts& a) {
    NodeDigest& n = node(a.node);
    n.asked_again = n.asked_again || asked_[a.node.value];
    asked_[a.node.value] = true;
    n.gathered.push_back(i_);
    n.up = true;
  }
  void note(const action::MakePlan&) {}
  void note(const action::Restart&) {
    d_.ended = i_;
    finished_ = true;
  }
  void note(const action::StartRanks& a) { node(a.node).started.push_back(i_); }
  void note(const action::StopRanks& a) { node(a.node).stopped.push_back(i_); }
  void note(const action::KillRanks& a) {
    node(a.node).killed.push_back(i_);
    kills_.push_back(a.node);
  }
  void note(const action::ReleaseNode& a) {
    NodeDigest& n = node(a.node);
    n.released.push_back(i_);
    n.released_down = n.released_down || !n.up;
    n.up = false;
  }
  void note(const action::RemoveNode& a) {
    node(a.node).up = asked_[a.node.value] = false;
    node(a.node).left = true;
  }
  void note(const action::Tell&) {}
  void note(const action::Finish& a) {
    d_.finishes.push_back(i_);
    d_.ended = i_;
    d_.report = &a.report;
    // A separate invariant checks how long nodes are waited for.
    if (a.report.outcome.cause == Cause::node_lost && waits_ && !running_phase())
      decide(Decision::Kind::node_lost);
    finished_ = true;
  }

  // ---- events

  bool running_phase() const { return d_.planned.has_value(); }
  bool open(std::uint32_t n) const { return d_.nodes[n].ranks > 0 && !d_.nodes[n].closed(); }

  void see(const event::NodeReady& e) {
    ready_.resize(d_.nodes.size());
    if (e.attempt != trace_.attempt || ready_[e.node.value] || running_phase()) return;
    if (members_[e.node.value].gone || members_[e.node.value].joins) return;
    if (!d_.nodes[e.node.value].up) return;
    if (waits_) d_.nodes[e.node.value].lost.reset();
    if (d_.nodes[e.node.value].lost) return;
    ready_[e.node.value] = true;
    d_.answered.push_back(e.node.value);
    ++ready_count_;
    see_all_opened();
  }
  /// No node is being connected any more. Before that, only a limit or a cancel decides.
  void see_all_opened() {
    if (ready_count_ + lost_while_connecting_ < d_.nodes.size() || d_.all_ready) return;
    if (lost_while_connecting_ == 0 && !lost_after_ready_) {
      d_.all_ready = i_;
    } else {
      decide(Decision::Kind::node_lost);
    }
  }
  void see(const event::PlanMade& e) {
    if (e.attempt != trace_.attempt || !(d_.all_ready || is_used_with_spares())) return;
    d_.planned = i_;
    if (e.starter) begun_due_ = trace_.steps[i_].now + 2 * config_.connect_limit;
  }
  /// Which nodes a plan needs is judged by invariants of runs with spares.
  [[nodiscard]] bool is_used_with_spares() const {
    return trace_.scenario.has_spares() &&
           find_action<action::StartRanks>(trace_.steps[i_]) != nullptr;
  }
  void see(const event::PortTaken&) {}
  void see(const event::StarterEnded& e) {
    const bool counts = e.attempt == trace_.attempt && running_phase() && open(e.node.value);
    if (!counts || std::exchange(mpirun_has_ended_, true) || e.after_signal) return;
    if (!e.status.ok()) return decide(Decision::Kind::mpirun);
    if (begun_ < d_.ranks.size()) begun_due_ = trace_.steps[i_].now + config_.end_limit;
  }
  void see(const event::PlanFailed&) {
    if (d_.all_ready) decide(Decision::Kind::plan_failed);
  }
  void see(const event::RankStarted& e) {
    if (e.attempt == trace_.attempt && running_phase()) begin(e.rank);
  }
  void begin(Rank rank) {
    if (rank.value >= has_begun_.size() || has_begun_[rank.value]) return;
    has_begun_[rank.value] = true;
    ++begun_;
  }
  void see(const event::RankNotStarted& e) { end(e.attempt, e.rank, e.at, true, false); }
  void see(const event::RankExited& e) {
    const bool own = !e.after_signal;
    if (e.attempt == trace_.attempt && !own && !d_.decision) ended_by_others_ = true;
    end(e.attempt, e.rank, e.at, own && !e.status.ok(), own && e.status.ok());
  }
  void see(const event::NodeEmpty& e) {
    if (e.attempt != trace_.attempt || !open(e.node.value)) return;
    d_.leftovers += e.leftovers;
    close(e.node.value, &NodeDigest::emptied);
  }
  void see(const event::NodeLost& e) {
    const std::uint32_t n = e.node.value;
    d_.nodes[n].up = asked_[n] = false;
    if (waits_ && !running_phase()) return see_lost_in_wait(n);
    if (d_.nodes[n].lost) return;
    if (running_phase() && !open(n)) {
      d_.nodes[n].lost = i_;
      return;
    }
    close(n, &NodeDigest::lost);
    if (!d_.all_ready && !running_phase()) {
      ready_.resize(d_.nodes.size());
      if (ready_[n]) {
        lost_after_ready_ = true;
      } else {
        ++lost_while_connecting_;
      }
      return see_all_opened();
    }
    decide(Decision::Kind::node_lost);
  }
  /// The run waits for it; nothing is decided, but all nodes must become ready again.
  void see_lost_in_wait(std::uint32_t n) {
    ready_.resize(d_.nodes.size());
    d_.nodes[n].lost = i_;
    if (ready_[n]) --ready_count_;
    ready_[n] = false;
    d_.all_ready.reset();
  }
  void see(const event::Hang& e) {
    if (e.attempt == trace_.attempt && running_phase() && running_ > 0)
      decide(Decision::Kind::hang);
  }
  void see(const event::Preempted& e) {
    if (e.attempt != trace_.attempt || !running_phase()) return;
    if (members_[e.node.value].gone) return;
    if (d_.decision) d_.notices.push_back(i_);
    if (running_ > 0) decide(Decision::Kind::preempted);
  }
  void see(const event::Progress&) {}
  void see(const event::Stall&) {}
  void see(const event::CancelSignal& e) { cancel(e.number); }
  void see(const event::FrontGone&) { cancel(0); }
  void see(const event::Deadline&) {}
  void see(const event::UserAsked&) {}
  void see(const event::NodeAdded&) {}
  void see(const event::NodeWithdrawn&) {}
  void see(const event::Copying&) {}
  void see(const event::Tick&) {}

  void cancel(int signal) {
    if (d_.decision) d_.cancels.push_back(i_);
    if (!running_phase() || running_ > 0) decide(Decision::Kind::cancelled, signal);
  }

  void end(Attempt attempt, Rank rank, WallTime at, bool failed, bool well) {
    if (attempt != trace_.attempt || !running_phase()) return;
    RankDigest& r = d_.ranks[rank.value];
    const std::uint32_t n = trace_.scenario.ranks[rank.value].node.value;
    if (r.ended || !open(n)) return;
    r = {i_, at, failed};
    begin(rank);
    --running_on_[n];
    --running_;
    if (failed) decide(Decision::Kind::rank);
    if (well && running_ > 0) {
      if (!first_well_) first_well_ = trace_.steps[i_].now;
      if (decides_[rank.value] && --deciding_left_ == 0) decide(Decision::Kind::success);
    }
  }

  void close(std::uint32_t n, std::optional<StepIndex> NodeDigest::*how) {
    d_.nodes[n].*how = i_;
    running_ -= running_on_[n];
    running_on_[n] = 0;
  }
  /// If nothing else ended the ranks, mpirun did.
  void see_end() {
    if (!ended_by_others_ || !running_phase()) return;
    for (std::uint32_t n = 0; n < d_.nodes.size(); ++n) {
      if (open(n)) return;
    }
    decide(Decision::Kind::mpirun);
  }

  void see_limits(MonotonicTime now) {
    const bool counts = trace_.ranks_began && now >= *trace_.ranks_began;
    const bool limit_is_over =
        config_.run_limit && counts && now - *trace_.ranks_began >= *config_.run_limit;
    if (!running_phase()) {
      if (limit_is_over) decide(Decision::Kind::time_limit);
      const bool late = now >= trace_.steps[0].now + config_.connect_limit;
      if (!waits_ && late && !d_.all_ready) decide(Decision::Kind::node_lost);
      return;
    }
    if (limit_is_over && running_ > 0) decide(Decision::Kind::time_limit);
    if (begun_due_ && now >= *begun_due_ && begun_ < d_.ranks.size())
      decide(Decision::Kind::mpirun);
    if (config_.stragglers_limit && first_well_ && running_ > 0 &&
        now >= *first_well_ + *config_.stragglers_limit)
      decide(Decision::Kind::stragglers);
    while (!kills_.empty()) {
      const std::uint32_t n = kills_.front().value;
      if (open(n)) {
        if (now < trace_.steps[d_.nodes[n].killed.front()].now + config_.end_limit) break;
        close(n, &NodeDigest::given_up);
        decide(Decision::Kind::node_lost);
      }
      kills_.pop_front();
    }
  }

  void decide(Decision::Kind kind, int signal = 0) {
    if (d_.decision) return;
    d_.decision = Decision{kind, i_, signal, {}};
    if (!running_phase()) return;
    for (std::uint32_t n = 0; n < running_on_.size(); ++n) {
      if (running_on_[n] > 0) d_.decision->with_running.emplace_back(n);
    }
  }

  const Trace& trace_;
  const SupervisorConfig& config_;
  Digest d_;
  StepIndex i_ = 0;
  std::vector<Membership> members_;
  std::vector<bool> asked_;  // for their facts, and neither lost nor out of the set since
  std::vector<bool> ready_;
  std::size_t ready_count_ = 0;
  std::size_t lost_while_connecting_ = 0;  // without an answer
  bool lost_after_ready_ = false;
  std::vector<std::uint32_t> running_on_;
  std::size_t running_ = 0;
  std::vector<bool> decides_;
  std::ptrdiff_t deciding_left_ = 0;
  std::optional<MonotonicTime> first_well_;
  std::deque<NodeId> kills_;
  std::vector<bool> has_begun_;
  std::size_t begun_ = 0;
  std::optional<MonotonicTime> begun_due_;  // all ranks, where mpirun starts them
  bool mpirun_has_ended_ = false;
  bool ended_by_others_ = false;
  bool finished_ = false;
  bool waits_ = false;  // for nodes that are lost before the ranks start
};

}  // namespace

std::optional<StepIndex> NodeDigest::closed() const {
  std::optional<StepIndex> first;
  for (const auto& step : {lost, emptied, given_up}) {
    if (step && (!first || *step < *first)) first = step;
  }
  return first;
}

Digest digest(const Trace& trace) {
  return Reader(trace).read();
}

}  // namespace dlaunch::sim
