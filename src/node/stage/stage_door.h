// The sending end of a connection between two nodes: listens until the node that was given the key
// connects, then sends it the blocks of the stream from the node's position on, as they are written
// here. Of dlaunch's listening sockets, other machines can reach only these and those of
// node/reach/reach_door.h and node/reach/program_door.h.
//
// A guest first sends kGreetingBytes: the ticket in the clear, then, sealed, the position from
// which it wants to go on. A guest that sends anything else gets no answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/time.h"
#include "os/acceptor.h"
#include "os/event_loop.h"
#include "os/sealed_stream.h"
#include "wire/message.h"

namespace dlaunch {

/// The sealed part of a greeting: the position, little-endian.
inline constexpr std::size_t kPositionBytes = 8;
inline constexpr std::size_t kGreetingBytes =
    kSealKeyBytes + kSealHeaderBytes + kPositionBytes + kSealOverhead;

/// What a node sends first on a connection.
[[nodiscard]] std::string stage_greeting(const StageKey& key, std::uint64_t position);
/// nullopt: the greeting was not made with this key.
[[nodiscard]] std::optional<std::uint64_t> read_stage_greeting(const StageKey& key,
                                                               std::string_view greeting);

class StageFiles;

/// Lives on the agent's one thread.
class StageDoor {
 public:
  /// The most guests that have not sent their greeting, and the time that each has for it. One
  /// guest more pushes out the oldest of the address that has most of them, so a flood from fewer
  /// than kMostGuests other addresses does not push out the node.
  static constexpr std::size_t kMostGuests = 64;
  static constexpr std::chrono::seconds kGreetingLimit{5};

  /// What it sends.
  struct Blocks {
    std::function<std::uint64_t()> position;  // number of the stream's blocks that can be read
    /// Appends the block at a position below position(), as a piece. False: it cannot be read.
    std::function<bool(std::uint64_t, std::string&)> append;
  };
  StageDoor(EventLoop& loop, Blocks blocks, wire::StageServe order);
  ~StageDoor() { close(); }
  StageDoor(const StageDoor&) = delete;
  StageDoor& operator=(const StageDoor&) = delete;

  /// Where it listens.
  [[nodiscard]] const std::vector<StageAddress>& addresses() const { return addresses_; }
  [[nodiscard]] bool listens() const { return !listeners_.empty(); }
  /// Whether nothing is left to do: the time limit has passed, or the connection has ended.
  [[nodiscard]] bool is_over() const { return !listens() && !connection_; }
  /// Call it when more blocks may have been written.
  void send_more();
  void close();

 private:
  struct Guest {
    Guest(EventLoop& loop, UniqueFd fd) : socket(loop, std::move(fd)) {}
    WatchedFd socket;
    std::string address;
    std::string said;
    MonotonicTime until{};
  };
  struct Connection {
    std::shared_ptr<Guest> guest;
    SealedSender sender;
    std::uint64_t position = 0;  // next block to send
    std::string out{};
    std::size_t sent = 0;  // bytes of `out`
    bool waits = false;    // until the socket is writable
  };

  void accept(UniqueFd socket);
  [[nodiscard]] std::shared_ptr<Guest> least_welcome() const;
  void receive(const std::shared_ptr<Guest>& guest);
  void dismiss(const std::shared_ptr<Guest>& guest);
  void connect(const std::shared_ptr<Guest>& guest, std::uint64_t position);
  void watch_end();
  [[nodiscard]] bool fill();
  void tick();

  EventLoop& loop_;
  const Blocks blocks_;
  const wire::StageServe order_;
  const MonotonicTime until_;
  Timer timer_;
  std::vector<std::unique_ptr<Acceptor>> listeners_;
  std::vector<StageAddress> addresses_;
  std::vector<std::shared_ptr<Guest>> guests_;
  std::optional<Connection> connection_;
};

/// The blocks that are written here; `files` must outlive the result.
[[nodiscard]] StageDoor::Blocks blocks_of(StageFiles& files);

}  // namespace dlaunch
