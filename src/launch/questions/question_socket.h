// The socket (run_socket.h) at which the engine of a run takes questions of other processes of its
// user. Questions and replies (model/question.h) are values of wire/value.h, each preceded by its
// size in four bytes; a connection may carry many, one after the other.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include "launch/questions/run_socket.h"
#include "model/question.h"
#include "model/result.h"
#include "os/unique_fd.h"
#include "runs/run_view.h"

namespace dlaunch {

inline constexpr const char* kQuestionSocket = "questions.sock";
inline constexpr std::size_t kMostQuestion = std::size_t{64} << 10;
inline constexpr std::size_t kMostReply = std::size_t{256} << 20;

/// The value, preceded by its size.
[[nodiscard]] std::string framed(const std::string& value);
/// Takes the first whole value off `bytes`; nullopt: it is not complete. Sets `is_too_long` if its
/// size exceeds `most`, so that it never will be.
[[nodiscard]] std::optional<std::string> take_framed(std::string& bytes, std::size_t most,
                                                     bool& is_too_long);

/// A connection to the engine of a run. Needs no file system any more once it is open.
class QuestionLine {
 public:
  /// `run`: a connection to kQuestionSocket.
  explicit QuestionLine(RunConnection run)
      : who_("run " + run.id), socket_(std::move(run.socket)) {}

  /// Poll this for a reply.
  [[nodiscard]] int fd() const { return socket_.get(); }
  /// A question that cannot be sent has an error as its reply.
  void ask(const Question& question);
  /// Does not wait; nullopt: no reply has arrived yet. Errors: kUsage: the run has ended; and those
  /// of a Refusal.
  [[nodiscard]] std::optional<Result<Reply>> receive();
  /// The engine has closed the connection: no more replies will come.
  [[nodiscard]] bool has_ended() const { return has_ended_; }
  /// Waits for a reply. Errors: those of receive(), and kTimeLimit.
  [[nodiscard]] Result<Reply> wait(std::chrono::milliseconds limit);

 private:
  std::string who_;
  UniqueFd socket_;
  std::string in_;
  bool has_ended_ = false;
};

/// Asks one question and waits for its reply, an Answer.
template <class Answer>
[[nodiscard]] Result<Answer> ask_run(RunConnection run, const Question& question,
                                     std::chrono::milliseconds limit) {
  QuestionLine line(std::move(run));
  line.ask(question);
  auto reply = line.wait(limit);
  if (!reply) return tl::unexpected(reply.error());
  auto* const answer = std::get_if<Answer>(&*reply);
  if (answer == nullptr) return fail(exit_code::kInternal, "the run answered a different question");
  return std::move(*answer);
}

}  // namespace dlaunch
