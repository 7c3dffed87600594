// The questions of many ssh processes to one user: one at a time, and a question answered once is
// not asked again. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlaunch {

struct Prompt {
  enum class Kind : char {
    secret = 's',   // a password or the like, not echoed
    visible = 'v',  // yes or no
    notice = 'n',   // nothing to answer: "Confirm user presence for key ..."
  };
  std::uint64_t asker = 0;  // the connection that waits for the answer
  std::string process;      // the ssh that asks
  Kind kind = Kind::secret;
  std::string text;
};

/// The answer to a question for a password or passphrase also goes to every other ssh with the same
/// question (64 hosts, one key), and to the next connection to the same host. When an ssh repeats
/// its question, the answer was wrong: it is forgotten, and the user is asked again.
class PromptQueue {
 public:
  ~PromptQueue();
  PromptQueue() = default;
  PromptQueue(const PromptQueue&) = delete;
  PromptQueue& operator=(const PromptQueue&) = delete;

  void add(Prompt prompt);
  /// The asker has ended.
  void gone(std::uint64_t asker);
  /// The user's answer to the question that is being asked; nullopt: refused.
  void answer(std::optional<std::string> text);

  struct Reply {
    std::uint64_t asker = 0;
    std::optional<std::string> text;  // nullopt: refused
  };
  /// Replies that are due now; each is given once.
  [[nodiscard]] std::vector<Reply> replies();
  /// The question for the user now, unless the last call returned the same one.
  [[nodiscard]] std::optional<Prompt> next_question();
  /// True once, when the question on the screen no longer needs an answer.
  [[nodiscard]] bool withdrawn() { return std::exchange(withdrawn_, false); }
  [[nodiscard]] bool asking() const { return current_.has_value(); }

 private:
  using Given = std::pair<std::string, std::string>;  // process, text

  void reply(const Prompt& prompt, std::optional<std::string> text);

  std::deque<Prompt> waiting_;
  std::optional<Prompt> current_;
  std::map<std::string, std::string> known_;  // by text
  std::map<Given, std::string> given_;        // the last one
  std::vector<Reply> replies_;
  bool withdrawn_ = false;
};

/// Judged by "(yes/no" in the text, and by ssh's own hint (SSH_ASKPASS_PROMPT, ssh(1)).
[[nodiscard]] Prompt::Kind kind_of_prompt(const std::string& text, const std::string& hint);

}  // namespace dlaunch
