// Finds out where all ranks of a run stand: asks every node in parallel, and answers within a
// limit. Runs one round after the other, because an agent gives up an answer when it is asked
// again. A node that lacks py-spy is sent it (py_spy_delivery.h) and asked a second time within the
// same limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/questions/own_py_spy.h"
#include "launch/questions/py_spy_delivery.h"
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

  /// Longer than a node may take. `dlaunch stacks` waits longer.
  static constexpr std::chrono::milliseconds kAnswerLimit{7000};

  /// `py_spy`: as PySpyDelivery's `reader`.
  StackRounds(EventLoop& loop, Nodes& nodes, std::vector<std::string> py_spy = own_py_spy_command(),
              std::chrono::milliseconds answer_limit = kAnswerLimit)
      : nodes_(nodes),
        answer_limit_(answer_limit),
        limit_(loop),
        py_spy_(loop, nodes, std::move(py_spy),
                [this](NodeId node, const std::string& problem) { brought(node, problem); }) {}

  /// The ranks of this plan were told to start; null: they have ended.
  void set_plan(const LaunchPlan* plan) { plan_ = plan; }
  /// Calls `done` once, unless the round is cancelled; without ranks if none is running. Earlier
  /// rounds finish first. Returns the round's number.
  std::uint32_t ask(Request request, Done done);
  /// Also allowed for a round that is over.
  void cancel(std::uint32_t number);
  void on(NodeId node, wire::StacksTaken& taken);
  void on(NodeId node, const wire::PySpyTaken& taken) { py_spy_.on(node, taken); }
  void node_lost(NodeId node);

 private:
  struct Round {
    std::uint32_t number = 0;
    Request request;
    Done done;
  };

  struct Awaited {
    wire::TakeStacks question;
    std::optional<wire::StacksTaken> without_py_spy{};  // the first answer, until a better one
  };

  void begin();
  void brought(NodeId node, const std::string& problem);
  void add(NodeId node, wire::StacksTaken taken);
  void add_without_py_spy(NodeId node, const std::string& why);
  void time_is_over();
  void finish();

  Nodes& nodes_;
  const std::chrono::milliseconds answer_limit_;
  Timer limit_;
  MonotonicTime end_{0};  // of the round under way
  const LaunchPlan* plan_ = nullptr;
  std::deque<Round> rounds_;  // the first one is under way
  bool under_way_ = false;
  std::uint32_t last_number_ = 0;
  std::map<NodeId, Awaited> awaited_;
  StacksReply reply_;
  PySpyDelivery py_spy_;
};

}  // namespace dlaunch
