// The listener of a node that has dlaunch, for nodes that do not have it yet (docs/internals/
// architecture.md, "dlaunch reaches a node"). A guest, which is dlaunch-fetch (node/fetch), shows a
// ticket that the launcher made for it and gets the program that this process executes. A guest
// that shows anything else gets nothing. The program is public; the guest checks it against a hash
// that it got from the launcher.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/time.h"
#include "os/acceptor.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"
#include "wire/message.h"

namespace dlaunch {

/// The address of this node at which sshd was reached, from SSH_CONNECTION (ssh(1)). Empty: other
/// nodes could not reach that address, or it is unknown.
[[nodiscard]] std::string reached_address(const std::string& ssh_connection);

/// Lives on the agent's one thread.
class ProgramDoor {
 public:
  /// How many guests may be connected that have not shown a ticket, and how long each may take to
  /// show it. One more guest pushes out the oldest.
  static constexpr std::size_t kMostGuests = 64;
  static constexpr std::chrono::seconds kGreetingLimit{5};

  /// Listens at `address` only; empty: never. `program`: the file that guests get.
  ProgramDoor(EventLoop& loop, std::string address, std::string program = "/proc/self/exe")
      : loop_(loop), address_(std::move(address)), path_(std::move(program)), timer_(loop) {}
  ~ProgramDoor() { close(); }
  ProgramDoor(const ProgramDoor&) = delete;
  ProgramDoor& operator=(const ProgramDoor&) = delete;

  /// Listens until all guests that were announced so far have shown their tickets, or their time is
  /// over.
  [[nodiscard]] wire::ProgramServed serve(const wire::ServeProgram& order);
  void close();
  [[nodiscard]] bool listens() const { return listener_ != nullptr; }

 private:
  struct Guest {
    Guest(EventLoop& loop, UniqueFd fd) : socket(loop, std::move(fd)) {}
    WatchedFd socket;
    std::string said{};
    MonotonicTime until{};
    off_t sent = 0;
    bool is_known = false;  // has shown a ticket
  };
  using GuestPtr = std::shared_ptr<Guest>;
  struct Ticket {
    std::string text;
    MonotonicTime until{};
  };

  [[nodiscard]] bool open();
  void accept(UniqueFd socket);
  void receive(const GuestPtr& guest);
  [[nodiscard]] bool admit(Guest& guest);
  void send_more(const GuestPtr& guest);
  void dismiss(const GuestPtr& guest, bool has_all = false);
  void dismiss_if(const std::function<bool(const Guest&)>& is_meant);
  void tick();
  void close_if_done();

  EventLoop& loop_;
  const std::string address_;
  const std::string path_;
  Timer timer_;
  std::unique_ptr<Acceptor> listener_;
  std::uint16_t port_ = 0;
  UniqueFd program_;
  off_t size_ = 0;
  std::vector<Ticket> tickets_;
  std::vector<GuestPtr> guests_;
};

}  // namespace dlaunch
