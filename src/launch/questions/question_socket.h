// The socket in the run folder at which the engine of a run takes questions of other processes of
// its user: 0600 in a folder that is 0700, and only peers with our user id are heard. A question
// and its answer are one value each (wire/value.h): the asker writes, ends its side, and reads to
// the end.
#pragma once

#include <chrono>
#include <string>

#include "model/result.h"
#include "model/stacks.h"
#include "os/unique_fd.h"
#include "runs/run_view.h"

namespace dlaunch {

inline constexpr const char* kQuestionSocket = "questions.sock";
inline constexpr std::size_t kMostQuestion = std::size_t{64} << 10;
inline constexpr std::size_t kMostReply = std::size_t{256} << 20;

/// Makes it. Errors: the file system takes no sockets, or is read-only.
[[nodiscard]] Result<UniqueFd> open_question_socket(const std::string& run_folder);

/// Asks the engine of the run, which must be on this machine, and waits for the answer at most for
/// `limit`. Errors: kUsage: the run has ended, or it takes no questions; kNodeLost: it runs
/// elsewhere; kNoPermission: it belongs to another user; kTimeLimit; and those of the answer.
[[nodiscard]] Result<StacksReply> ask_for_stacks(const RunView& run, const StacksQuestion& question,
                                                 std::chrono::milliseconds limit);

}  // namespace dlaunch
