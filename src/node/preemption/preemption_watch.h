// While an attempt runs on this node, finds out whether the node is about to be taken away: runs
// the user's command repeatedly, and looks for a file. Tells the launcher once per attempt.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include <sys/types.h>

#include "model/environment.h"
#include "node/side_process.h"
#include "os/containment.h"
#include "os/enclosure.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread. The command has stdin from /dev/null, leads a session of its
/// own, and is killed with all processes of the session after twice the interval (at least 1 s). At
/// most 64 KiB of its output is kept. A command that cannot run is reported once.
class PreemptionWatch {
 public:
  using Send = std::function<void(const wire::FromAgent&)>;

  /// `enclosure`: that of the ranks; the command runs in it too.
  PreemptionWatch(EventLoop& loop, Enclosure& enclosure, Send send);
  ~PreemptionWatch();

  /// Call for each message that starts ranks. `login`: the agent's environment.
  void begin(const wire::StartRanks& start, const Environment& login);
  /// Call for every child that was reaped. True: it was the command.
  bool was_reaped(const Reaped& reaped);
  /// The attempt is over. Returns processes of this watch that were killed but may still exist.
  std::set<pid_t> end();

 private:
  struct Call;

  void look();
  void start_call();
  void read(std::unique_ptr<WatchedFd>& stream, std::string& said);
  void judge(const ExitStatus& status);
  void look_for_file();
  void watch_folder();
  void await_change();
  void tell_problem(const std::string& problem);
  void notice(std::string_view text);

  EventLoop& loop_;
  Enclosure& enclosure_;
  const Send send_;
  Timer next_;
  Timer limit_;
  Timer settle_;
  SideProcess file_look_;
  std::unique_ptr<WatchedFd> folder_;  // inotify(7)
  std::unique_ptr<Call> call_;         // the command, while it runs
  std::set<pid_t> killed_;             // of the last call; they may still be dying
  std::vector<std::string> command_;
  std::string file_;  // absolute
  std::string workdir_;
  Environment environment_;
  Attempt attempt_;
  std::chrono::milliseconds every_{0};  // 0: nothing is watched
  bool told_problem_ = false;
};

}  // namespace dlaunch
