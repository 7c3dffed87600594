// The engine's side of questions about a run from other terminals (launch/questions). Questions
// for stacks are answered one after the other, within the limit of StackRounds.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launch/questions/stack_rounds.h"
#include "model/launch_plan.h"
#include "model/question.h"
#include "os/acceptor.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class QuestionSide {
 public:
  /// Answered at once.
  struct Answers {
    std::function<StatusReply()> status;
    std::function<Result<StopReply>(const StopQuestion&)> stop;
  };
  QuestionSide(EventLoop& loop, StackRounds& rounds, Answers answers);
  ~QuestionSide();
  QuestionSide(const QuestionSide&) = delete;
  QuestionSide& operator=(const QuestionSide&) = delete;

  /// Begins to listen in the run folder. An error here is not an error of the run.
  [[nodiscard]] Status open(const std::string& run_folder);
  /// Removes the socket. Askers that still wait get no answer.
  void close();
  /// The ranks of this plan were told to start; null: they have ended.
  void set_plan(const LaunchPlan* plan) { plan_ = plan; }

  /// The ranks that the question asks for, or why it cannot be answered. Pure.
  [[nodiscard]] static Result<std::vector<Rank>> ranks_of(const StacksQuestion& question,
                                                          const LaunchPlan* plan);

 private:
  struct Asker;

  void let_in(UniqueFd socket);
  void watch(Asker& asker);
  void read(Asker& asker);
  void take_question(Asker& asker);
  void take(Asker& asker, StacksQuestion& question);
  void take(Asker& asker, StatusQuestion& question);
  void take(Asker& asker, StopQuestion& question);
  void drop(Asker& asker);
  void next();
  void begin(const StacksQuestion& question);
  void reply_with(const Reply& reply);
  void answer(Asker& asker, const Reply& reply);
  void write(Asker& asker);

  EventLoop& loop_;
  StackRounds& rounds_;
  const Answers answers_;
  std::string socket_path_;
  std::unique_ptr<Acceptor> acceptor_;
  const LaunchPlan* plan_ = nullptr;
  std::deque<std::unique_ptr<Asker>> askers_;  // of those that want stacks, the first has its turn
  Asker* current_ = nullptr;
  std::uint32_t round_ = 0;  // of the current asker
};

}  // namespace dlaunch
