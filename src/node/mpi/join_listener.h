// An agent's listener for ranks that another launcher (mpirun) starts: a private folder, with the
// same path on every node, that holds a link to dlaunch and a socket. mpirun starts `FOLDER/dlaunch
// exec --join FOLDER` for each rank. This process, the rank's proxy, connects, passes on what
// mpirun has assigned to it (join_protocol.h) and stays until the agent tells it how the rank
// ended. docs/internals/architecture.md, "mpirun".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "model/result.h"
#include "node/mpi/join_protocol.h"
#include "os/acceptor.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Removes the folder that a killed agent has left behind.
void remove_join_folder(const std::string& folder);

/// Lives on the agent's one thread.
class JoinListener {
 public:
  struct Callbacks {
    /// `pmi`: the socket of PMI_FD, or invalid. Returns why the rank is not started. Empty: it was
    /// started, or answer() will tell the proxy why not.
    std::function<std::string(const Joining&, UniqueFd pmi)> on_joined;
    /// The rank's proxy ended before it was told to end.
    std::function<void(Rank)> on_left;
  };
  JoinListener(EventLoop& loop, Callbacks callbacks);
  ~JoinListener();
  JoinListener(const JoinListener&) = delete;
  JoinListener& operator=(const JoinListener&) = delete;

  /// Descriptors that each proxy costs the agent: its socket and a pidfd of its parent.
  static constexpr std::size_t kDescriptors = 2;

  /// Makes the folder, which must not exist yet. Its parent must be a folder that only this user
  /// may enter, or /tmp: other users could otherwise have programs started in our name.
  [[nodiscard]] tl::expected<void, StartFailure> open(const std::string& folder);
  [[nodiscard]] bool is_open() const { return acceptor_ != nullptr; }
  /// Calls on_left for proxies whose end has not been noticed yet.
  void catch_up();
  /// Answers the rank's proxy and closes its connection. Does nothing if the rank has no proxy.
  void answer(Rank rank, const JoinAnswer& answer);
  /// Accepts no more proxies. Connected ones stay until the next open(). So does the folder: the
  /// other launcher may still execute the program in it.
  void close();
  /// Removes the folder; call end_launchers() first.
  void remove();

  /// Blocks until the other launcher's processes that started proxies have ended; they end with
  /// their launcher. Kills those that are left after `grace`.
  void end_launchers(std::chrono::milliseconds grace);

 private:
  struct Proxy;
  void accept(UniqueFd socket);
  void receive(Proxy& proxy);
  void refuse(Proxy& proxy, const std::string& why);
  void drop(Proxy& proxy);
  void leave(Proxy& proxy);

  EventLoop& loop_;
  Callbacks callbacks_;
  std::string folder_;
  std::unique_ptr<Acceptor> acceptor_;
  std::vector<std::unique_ptr<Proxy>> proxies_;
  std::map<std::uint32_t, UniqueFd> launchers_;  // pidfds, by pid
};

}  // namespace dlaunch
