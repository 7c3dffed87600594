// Where ranks come that another launcher (mpirun) starts: a private folder, the same on every node,
// with a link to dlaunch and a socket in it. mpirun starts `FOLDER/dlaunch exec --join FOLDER` for
// each rank; that process says which rank it stands for and hands over what mpirun has given it,
// the agent starts the rank, and it stays until it is told how the rank has ended (join_words.h).
// docs/architecture.md, "mpirun", has the whole picture.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "foreign/join_words.h"
#include "model/result.h"
#include "os/acceptor.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Takes the folder of an agent that was killed away.
void remove_join_folder(const std::string& folder);

/// Lives on the agent's one thread.
class JoinPoint {
 public:
  struct Callbacks {
    /// `pmi`: the socket of PMI_FD; invalid: there is none. Returns why the rank is not started;
    /// empty: it is, or will be told otherwise by answer().
    std::function<std::string(const Joining&, UniqueFd pmi)> on_joined;
    /// The process that stood for the rank has ended before it was told to.
    std::function<void(Rank)> on_left;
  };
  JoinPoint(EventLoop& loop, Callbacks callbacks);
  ~JoinPoint();
  JoinPoint(const JoinPoint&) = delete;
  JoinPoint& operator=(const JoinPoint&) = delete;

  /// Descriptors of ours that each who comes needs: its socket, and the process that has started
  /// it.
  static constexpr std::size_t kDescriptors = 2;

  /// Makes the folder, which must not be there yet, in one that is ours alone and is made where it
  /// is missing: whoever else could make it could start programs of his own in our name.
  [[nodiscard]] tl::expected<void, StartFailure> open(const std::string& folder);
  [[nodiscard]] bool is_open() const { return acceptor_ != nullptr; }
  /// Who has left since: on_left is called from inside.
  void catch_up();
  /// Tells the process that stands for the rank, and was not refused; there may be none.
  void answer(Rank rank, const JoinAnswer& answer);
  /// Nobody comes any more. Who is there stays until the next open(); so does the folder, for what
  /// the other launcher still starts must not be somebody else's program of the same name.
  void close();
  /// Takes the folder away: after end_launchers().
  void remove();

  /// The processes of the other launcher that have started those who came: they end by themselves
  /// when it ends. Waits at most `grace` for that, blocking, then SIGKILL to each.
  void end_launchers(std::chrono::milliseconds grace);

 private:
  struct Visitor;
  void let_in(UniqueFd socket);
  void hear(Visitor& visitor);
  void refuse(Visitor& visitor, const std::string& why);
  void drop(Visitor& visitor);
  void leave(Visitor& visitor);

  EventLoop& loop_;
  Callbacks callbacks_;
  std::string folder_;
  std::unique_ptr<Acceptor> acceptor_;
  std::vector<std::unique_ptr<Visitor>> visitors_;
  std::map<std::uint32_t, UniqueFd> launchers_;  // pidfds, by pid
};

}  // namespace dlaunch
