// One node as the engine sees it: greets the agent, translates its messages into events, watches
// that it is alive, and tells why it was lost.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launch/connector.h"
#include "model/event.h"
#include "model/job_spec.h"
#include "os/channel.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class Session {
 public:
  struct Settings {
    std::string node_name;
    std::uint64_t session = 0;
    Duration fence_after;
    Duration lost_after;
  };
  struct Callbacks {
    std::function<void(Event)> on_event;
    std::function<void(NodeFacts)> on_facts;  // before the NodeReady event
    std::function<void(const wire::OutputView&)> on_output;
    std::function<void(const wire::OutputEnd&)> on_output_end;
    std::function<void(const wire::StdinTaken&)> on_stdin_taken;
    std::function<void(std::string)> on_notice;
    std::function<void(const wire::PlacesMissing&)> on_places = {};
    std::function<void(const wire::FetchedOutput&)> on_fetched = {};
  };

  Session(EventLoop& loop, NodeIndex node, Connection connection, Settings settings,
          Callbacks callbacks);

  /// Says hello and asks for facts.
  void start(const wire::FactsRequest& request);
  /// Asks for facts again; they come as NodeReady of the request's attempt.
  void gather(const wire::FactsRequest& request) { channel_.send(request); }
  void send(const wire::Message& message) { channel_.send(message); }
  /// Says Bye; the session has ended when the agent answers or the connection ends.
  void release();
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] pid_t process() const { return process_; }
  void process_is_reaped() { process_ = 0; }

 private:
  void on(wire::Hello& hello);
  void on(wire::Facts& facts);
  void on(wire::RanksStarted& started);
  void on(wire::RankNotStarted& failed);
  void on(wire::RankExited& exited);
  void on(wire::AttemptEnded& ended);
  void on(wire::OutputEnd& end) { callbacks_.on_output_end(end); }
  void on(wire::StdinTaken& taken) { callbacks_.on_stdin_taken(taken); }
  void on(wire::Notice& notice);
  void on(wire::PortTaken& taken);
  void on(wire::PlacesMissing& answer) {
    if (callbacks_.on_places) callbacks_.on_places(answer);
  }
  void on(wire::FetchedOutput& fetched) {
    if (callbacks_.on_fetched) callbacks_.on_fetched(fetched);
  }
  void on(wire::Bye&);
  template <class Other>
  void on(Other&) {}  // Heartbeat, and what only a launcher sends

  void beat();
  void channel_ended(const std::string& reason);
  void lose(std::string what);
  void lose_when_process_ends();
  [[nodiscard]] std::string reason_from_process();

  EventLoop& loop_;
  NodeIndex node_;
  Settings settings_;
  Callbacks callbacks_;
  Channel channel_;
  Timer heartbeat_;
  std::unique_ptr<WatchedFd> process_end_;  // pidfd, once we wait for it
  pid_t process_;
  const bool remote_;
  std::string early_;
  std::function<std::string(int)> last_words_;
  bool started_ = false;
  bool released_ = false;
  bool ended_ = false;
  std::uint64_t frames_seen_ = 0;
  Duration silence_{0};
};

}  // namespace dlaunch
