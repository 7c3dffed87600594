// The engine's end of the link to the front: the user's stdin and signals, ssh's questions while
// nodes are connected, and the hand-over of a detached run. Decides nothing about the run: the end
// of the front, and a question to the user, are events.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launch/connect/connect_progress.h"
#include "launch/connect/prompt_server.h"
#include "launch/engine/run_request.h"
#include "launch/engine/run_store.h"
#include "launch/engine/stdin_relay.h"
#include "launch/front/hand_over.h"
#include "launch/output/output_side.h"
#include "launch/output/screen.h"
#include "launch/session/nodes.h"
#include "model/action.h"
#include "model/event.h"
#include "model/launch_plan.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class FrontSide {
 public:
  struct Callbacks {
    std::function<void(Event)> push;
    std::function<void(int number)> signalled;  // the front received this signal
  };
  FrontSide(EventLoop& loop, const RunOptions& options, UniqueFd link, HandOver hand_over,
            Nodes& nodes, RunStore& store, Screen& screen, OutputSide& output, Callbacks callbacks);

  /// Tells the front where the run folder is.
  void announce();
  /// A node is being connected: from now on ssh may ask, and a terminal shows which nodes are
  /// awaited.
  void connecting(NodeId node);
  /// No node is being connected any more.
  void connected();
  /// The ranks of the plan were told to start; `rank` gets stdin.
  void begin_stdin(const LaunchPlan& plan, Rank rank);
  void on(const wire::StdinTaken& taken) { stdin_.taken(taken); }
  /// `plan`: of the attempt; null: there is none.
  void tell(const Event& event, const LaunchPlan* plan);
  void tell(const action::Restart&) { stdin_.end(); }
  [[nodiscard]] bool is_gone() const { return gone_; }
  /// What the agents wrote to stderr of a detached run.
  [[nodiscard]] std::string agent_errors() const { return hand_over_.agent_errors(); }

 private:
  void watch();
  void read();
  void end_echo_line(int signal);
  void open_prompts();
  void ask(const Prompt& prompt);
  void answer(std::optional<std::string> text);
  void hand_over();

  EventLoop& loop_;
  const RunOptions& options_;
  Nodes& nodes_;
  RunStore& store_;
  Screen& screen_;
  OutputSide& output_;
  Callbacks callbacks_;
  WatchedFd link_;
  NodeId stdin_node_;  // of the rank that gets stdin
  StdinRelay stdin_;
  ConnectProgress progress_;
  std::unique_ptr<PromptServer> prompts_;  // while nodes are being connected
  HandOver hand_over_;
  bool gone_ = false;  // the front has ended before the run was handed over
};

}  // namespace dlaunch
