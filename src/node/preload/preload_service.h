// Starts ranks from a template: a Python interpreter that has imported the modules of `preload`
// and then forks a process for each rank. The interpreter of every rank waits in a hook
// (preload_hook.h) before its program; the first one forks the template, and the others are told to
// leave when a fork of the template has taken their place. Where that does not work, a rank goes on
// by itself, as without `preload`. docs/decisions/016-ranks-forked-from-a-template.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "model/environment.h"
#include "node/preload/template_key.h"
#include "os/acceptor.h"
#include "os/enclosure.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// A template between two sessions: see PreloadService::leave().
struct LeftTemplate {
  std::string key;
  pid_t pid = 0;
  UniqueFd link;
};

/// Lives on the agent's one thread.
class PreloadService {
 public:
  /// What RankService knows about its ranks.
  struct Ranks {
    /// The command of the rank whose first process is `leader`; null: there is no such rank.
    std::function<const std::vector<std::string>*(pid_t leader)> command_of;
    /// Makes `successor` the rank's first process; false: the rank must not run any more.
    std::function<bool(pid_t leader, pid_t successor)> replace;
  };
  using Notice = std::function<void(std::string)>;

  PreloadService(EventLoop& loop, Enclosure& enclosure, Notice notice);
  ~PreloadService();
  PreloadService(const PreloadService&) = delete;
  PreloadService& operator=(const PreloadService&) = delete;

  void set_ranks(Ranks ranks) { ranks_ = std::move(ranks); }
  /// Call for each StartRanks before its ranks start.
  void begin(const wire::StartRanks& start);
  /// Adds to `own` what makes the rank's interpreter execute the hook. `base`: the variables that
  /// `own` is added to. Does nothing without `preload`.
  void add_variables(const Environment& base, Environment& own);
  /// Call when the attempt's ranks are over. Processes that still wait are left to go on by
  /// themselves. Templates stay for the next attempt.
  void end_attempt();
  /// Takes the templates of the session before this one. Each is used if the files that it has
  /// imported are unchanged.
  void adopt(std::vector<LeftTemplate> left);
  /// Returns the templates that the next session may use, and kills the others. This session has
  /// none afterwards.
  [[nodiscard]] std::vector<LeftTemplate> leave();
  /// The templates' processes. They are dlaunch's own and have no children that belong to a job.
  [[nodiscard]] std::set<pid_t> templates() const;

 private:
  struct Caller;
  struct Template;

  void open();
  void accept(UniqueFd socket);
  void wait(Caller& caller);
  void receive(Caller& caller);
  void on_rank(Caller& caller, std::size_t arguments);
  void on_template(Caller& caller, std::uint32_t number);
  void assign(Caller& caller);
  void make_room();
  void listen_to(Template& made);
  void on_template_says(Template& made, const std::string& packet);
  void template_ended(Template& made);
  void gather(Template& made);
  void hand_over(Template& made);
  void on_set(std::uint32_t number, pid_t successor);
  void go_on(Caller& caller);
  [[nodiscard]] std::vector<Caller*> callers_of(const Template& made) const;
  void give_up(Template& made, const std::string& why);
  void drop(Caller& caller);
  void lost(Caller& caller);
  void forget(Template& over);
  void tell_once(std::string text);
  [[nodiscard]] bool is_own(std::string_view name) const;

  EventLoop& loop_;
  Enclosure& enclosure_;
  Notice notice_;
  Ranks ranks_;
  std::string modules_;  // comma-separated; empty: nothing is preloaded
  std::set<std::string, std::less<>> varying_;  // variables whose values differ between ranks
  UniqueFd archive_;
  std::string address_;
  std::unique_ptr<Acceptor> acceptor_;
  std::vector<std::unique_ptr<Caller>> callers_;
  std::vector<std::unique_ptr<Template>> templates_;
  std::uint32_t last_number_ = 0;  // of callers and templates
  std::size_t expected_ = 0;  // ranks that have started but not called yet
  bool has_offered_ = false;  // a rank could use a template; ranks in containers cannot
  bool met_python_ = false;  // a rank's Python program has connected
  std::set<std::string> told_;
};

}  // namespace dlaunch
