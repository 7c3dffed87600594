// The engine's side of terminals beside ranks: relays the messages between `dlaunch attach` and the
// agent of the rank's node, with bounded memory in both directions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "launch/session/nodes.h"
#include "model/launch_plan.h"
#include "os/acceptor.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class TerminalSide {
 public:
  TerminalSide(EventLoop& loop, Nodes& nodes);
  ~TerminalSide();
  TerminalSide(const TerminalSide&) = delete;
  TerminalSide& operator=(const TerminalSide&) = delete;

  /// Begins to listen in the run folder. An error here is not an error of the run.
  [[nodiscard]] Status open(const std::string& run_folder);
  /// Removes the socket, and tells all users that the run has ended.
  void close();
  /// The ranks of this plan were told to start; null: they have ended.
  void set_plan(const LaunchPlan* plan) { plan_ = plan; }
  void on(NodeId node, const wire::TerminalOutput& output);
  void on(NodeId node, const wire::TerminalTaken& taken);
  void on(NodeId node, const wire::TerminalEnded& ended);
  void node_lost(NodeId node);

 private:
  struct Guest;

  void let_in(UniqueFd socket);
  [[nodiscard]] bool has_room();
  void watch(Guest& guest);
  void read(Guest& guest);
  void take(Guest& guest, const std::string& packet);
  void begin(Guest& guest, std::string_view body);
  void end(Guest& guest, const wire::TerminalEnded& ended);
  void flush(Guest& guest);
  void drop(Guest& guest);
  [[nodiscard]] Guest* find(NodeId node, std::uint32_t id);

  EventLoop& loop_;
  Nodes& nodes_;
  std::string socket_path_;
  std::unique_ptr<Acceptor> acceptor_;
  const LaunchPlan* plan_ = nullptr;
  std::map<std::uint32_t, std::unique_ptr<Guest>> guests_;  // by the terminal's id
  std::uint32_t id_ = 0;
};

}  // namespace dlaunch
