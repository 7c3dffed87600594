// Makes a new connection to an agent whose connection was lost: tries until one is made, the agent
// has ended, or stop() is called.
#pragma once

#include <functional>
#include <string>

#include "launch/connect/connector.h"
#include "model/job_spec.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class Reconnection {
 public:
  using Opened = std::function<void(Result<Connection>)>;
  struct Way {
    /// Like NodeConnector::open(): answers at most once, within the limit, never from inside the
    /// call.
    std::function<void(Opened, Duration limit)> open;
    /// Cancels the open() that has not answered; it never will.
    std::function<void()> cancel;
  };
  struct Callbacks {
    std::function<void(Connection)> on_made;
    std::function<void(std::string)> on_gone;  // how the agent ended
    /// The node was reached, but no trace of the agent was found. The tries go on until stop().
    std::function<void()> on_hidden = {};
  };

  /// Without `way.open` reconnecting is impossible.
  Reconnection(EventLoop& loop, Way way, Callbacks callbacks);

  [[nodiscard]] bool possible() const { return static_cast<bool>(way_.open); }
  [[nodiscard]] bool trying() const { return trying_; }
  /// Starts trying: at once, or after a pause if an earlier try made a connection that was not
  /// followed by succeeded(). Does nothing while tries are already under way.
  void begin();
  void stop();
  /// The session continues over the new connection.
  void succeeded();
  /// Why the last try failed; empty: none has failed since the session continued.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  void try_now();
  void try_later();
  void opened(Result<Connection> connection);

  Way way_;
  Callbacks callbacks_;
  Timer pause_;
  bool trying_ = false;
  int tries_ = 0;
  std::string trouble_;
};

}  // namespace dlaunch
