// Where all ranks of a run stand: asks every node in parallel, and answers within a limit. One
// round after the other, because an agent gives up an answer when it is asked again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "launch/session/nodes.h"
#include "model/launch_plan.h"
#include "model/stacks.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class StackRounds {
 public:
  struct Request {
    std::vector<Rank> ranks;  // of the plan; empty: all
    std::string path;         // as StacksQuestion::path
    bool native = false;      // as StacksQuestion::native
  };
  using Done = std::function<void(StacksReply)>;

  StackRounds(EventLoop& loop, Nodes& nodes) : nodes_(nodes), limit_(loop) {}

  /// The ranks of this plan were told to start; null: they have ended.
  void set_plan(const LaunchPlan* plan) { plan_ = plan; }
  /// Calls `done` once, unless it is cancelled; without ranks if none is running. Rounds before it
  /// are ended first. Returns its number.
  std::uint32_t ask(Request request, Done done);
  /// Also of a round that is over.
  void cancel(std::uint32_t number);
  void on(NodeId node, wire::StacksTaken& taken);
  void node_lost(NodeId node);

 private:
  struct Round {
    std::uint32_t number = 0;
    Request request;
    Done done;
  };

  void begin();
  void end_if_complete();
  void time_is_over();
  void finish();

  Nodes& nodes_;
  Timer limit_;
  const LaunchPlan* plan_ = nullptr;
  std::deque<Round> rounds_;  // the first one is under way
  bool under_way_ = false;
  std::uint32_t last_number_ = 0;
  std::set<NodeId> awaited_;
  StacksReply reply_;
};

}  // namespace dlaunch
