// The questions of many ssh processes, put to one user: one at a time, and what has been answered
// once is not asked again. Pure.
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
    secret = 's',   // a password or the like: is not shown when it is typed
    visible = 'v',  // yes or no
    notice = 'n',   // nothing to answer: "Confirm user presence for key ..."
  };
  std::uint64_t asker = 0;  // who waits for the answer
  std::string process;      // the ssh on whose behalf it is
  Kind kind = Kind::secret;
  std::string text;
};

/// An answer to a question for a password or passphrase is given to every other ssh that asks with
/// the same words of its own (64 hosts, one key), and to the next connection to the same host. An
/// ssh that asks the same again was given a wrong one: that is forgotten, and the user is asked.
class PromptQueue {
 public:
  ~PromptQueue();
  PromptQueue() = default;
  PromptQueue(const PromptQueue&) = delete;
  PromptQueue& operator=(const PromptQueue&) = delete;

  void add(Prompt prompt);
  /// Whoever asked has gone.
  void gone(std::uint64_t asker);
  /// The user's answer to the question that is being asked; nullopt: refused.
  void answer(std::optional<std::string> text);

  struct Reply {
    std::uint64_t asker = 0;
    std::optional<std::string> text;  // nullopt: refused
  };
  /// Replies that are due now; each is given once.
  [[nodiscard]] std::vector<Reply> replies();
  /// The question to put to the user now, if it is another one than at the last call.
  [[nodiscard]] std::optional<Prompt> next_question();
  /// True once when the question that is being asked is of no interest any more.
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

/// "(yes/no" in the text, or ssh's own hint (SSH_ASKPASS_PROMPT, ssh(1)).
[[nodiscard]] Prompt::Kind kind_of_prompt(const std::string& text, const std::string& hint);

}  // namespace dlaunch
