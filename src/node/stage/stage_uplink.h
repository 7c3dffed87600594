// The receiving end of a connection between two nodes (node/stage/stage_door.h is the sending end):
// connects to all addresses of the other node at once and goes on with the first one that answers
// with the key.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "os/event_loop.h"
#include "os/sealed_stream.h"
#include "sync/pieces.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class StageUplink {
 public:
  struct Callbacks {
    std::function<void()> connected;
    std::function<void(const std::vector<sync::Piece>&)> pieces;
    /// Nothing more will arrive. Called once, unless this object is destroyed before. The callback
    /// may destroy it.
    std::function<void(std::string)> ended;
    /// Whether more can be taken now; if not, go_on() must be called when it can.
    std::function<bool()> has_room;
  };

  /// `position`: where in the stream to go on.
  StageUplink(EventLoop& loop, const wire::StageFeed& order, std::uint64_t position,
              Callbacks callbacks);
  ~StageUplink() { close(); }
  StageUplink(const StageUplink&) = delete;
  StageUplink& operator=(const StageUplink&) = delete;

  void go_on();

 private:
  struct Try {
    Try(EventLoop& loop, UniqueFd fd, const StageKey& key)
        : socket(loop, std::move(fd)), receiver(key.down, sync::kMostPieces + 4096) {}
    WatchedFd socket;
    SealedReceiver receiver;
    std::string address;
    bool answered = false;
  };

  void greet(const std::shared_ptr<Try>& one);
  void wait(const std::shared_ptr<Try>& one);
  void receive(const std::shared_ptr<Try>& one);
  [[nodiscard]] bool take(const std::shared_ptr<Try>& one);
  void give_up(const std::shared_ptr<Try>& one, const std::string& why);
  void close();
  void end(std::string why);

  EventLoop& loop_;
  const StageKey key_;
  const std::uint64_t position_;
  Callbacks callbacks_;
  Timer limit_;
  std::vector<std::shared_ptr<Try>> tries_;  // only one is left once it has answered
  bool holds_ = false;                       // has_room() was false
  std::string received_;                     // kept, because a new one would be zeroed each time
  std::string problem_;
};

}  // namespace dlaunch
