// Brings the launcher's py-spy to nodes that lack one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/session/nodes.h"
#include "os/event_loop.h"
#include "os/program_output.h"
#include "sync/window.h"

namespace dlaunch {

/// Lives on the engine's one thread. Sends in pieces with a window, so that the heartbeats of a
/// slow link go on; keeps the program only while it is being sent.
class PySpyDelivery {
 public:
  /// `problem`: a clause that says why the node has none; empty: the node has py-spy
  /// now.
  using Done = std::function<void(NodeId node, const std::string& problem)>;

  /// `reader` writes the program to stdout (own_py_spy.h), in a process of its own: a folder in the
  /// PATH may be on a file system that hangs.
  PySpyDelivery(EventLoop& loop, Nodes& nodes, std::vector<std::string> reader, Done done)
      : loop_(loop), nodes_(nodes), reader_(std::move(reader)), done_(std::move(done)) {}

  /// Calls `done` once, even if py-spy is on its way to that node already, unless the node is lost.
  /// `path`: a PATH that is searched for py-spy before our own.
  void bring(NodeId node, const std::string& path);
  void on(NodeId node, const wire::PySpyTaken& taken);
  void node_lost(NodeId node);

 private:
  struct Target {
    sync::Window window;
    std::uint64_t sent = 0;
  };

  void read(const std::string& path);
  void have_read(Result<ProgramOutput> output);
  void send(NodeId node, Target& target);
  void end(NodeId node, const std::string& problem);

  EventLoop& loop_;
  Nodes& nodes_;
  const std::vector<std::string> reader_;
  const Done done_;
  std::optional<RunningProgram> reading_;
  std::string program_;  // empty: not read
  std::map<NodeId, Target> targets_;
};

}  // namespace dlaunch
