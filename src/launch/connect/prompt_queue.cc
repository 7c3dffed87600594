#include "launch/connect/prompt_queue.h"

#include <algorithm>
#include <cstring>

#include "text/strings.h"

namespace dlaunch {

namespace {

/// Only ssh's own questions, which name the key or the account: in a keyboard-interactive login
/// (RFC 4256) a server may ask anything, and must not get another server's secret (since 8.6,
/// OpenSSH puts "(user@host)" before such text). One-time codes work only once.
bool is_reusable(const Prompt& prompt) {
  const std::string text = lower(prompt.text);
  const std::size_t password = text.find("password");
  const bool is_of_account = password != std::string::npos && text.find('@') < password;
  return prompt.kind == Prompt::Kind::secret &&
         (is_of_account || text.starts_with("enter passphrase for ")) &&
         text.find("one-time") == std::string::npos;
}

}  // namespace

PromptQueue::~PromptQueue() {
  for (auto& [text, secret] : known_) ::explicit_bzero(secret.data(), secret.size());
  for (auto& [asked, secret] : given_) ::explicit_bzero(secret.data(), secret.size());
}

void PromptQueue::add(Prompt prompt) {
  // The same question again means that the answer was wrong, unless the user has given another one
  // meanwhile.
  const auto given = given_.find({prompt.process, prompt.text});
  const auto known = known_.find(prompt.text);
  if (given != given_.end() && known != known_.end() && known->second == given->second)
    known_.erase(known);
  waiting_.push_back(std::move(prompt));
}

void PromptQueue::gone(std::uint64_t asker) {
  std::erase_if(waiting_, [asker](const Prompt& one) { return one.asker == asker; });
  if (!current_ || current_->asker != asker) return;
  current_.reset();
  withdrawn_ = true;
}

void PromptQueue::answer(std::optional<std::string> text) {
  if (!current_) return;
  const Prompt asked = std::move(*current_);
  current_.reset();
  if (text && is_reusable(asked)) known_[asked.text] = *text;
  reply(asked, std::move(text));
}

void PromptQueue::reply(const Prompt& prompt, std::optional<std::string> text) {
  if (text && is_reusable(prompt)) given_[{prompt.process, prompt.text}] = *text;
  replies_.push_back({prompt.asker, std::move(text)});
}

std::vector<PromptQueue::Reply> PromptQueue::replies() {
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const auto known = known_.find(one->text);
    if (known == known_.end()) {
      ++one;
      continue;
    }
    reply(*one, known->second);
    one = waiting_.erase(one);
  }
  return std::exchange(replies_, {});
}

std::optional<Prompt> PromptQueue::next_question() {
  if (current_ || waiting_.empty()) return std::nullopt;
  current_ = std::move(waiting_.front());
  waiting_.pop_front();
  return current_;
}

Prompt::Kind kind_of_prompt(const std::string& text, const std::string& hint) {
  if (hint == "none") return Prompt::Kind::notice;
  if (hint == "confirm" || text.find("(yes/no") != std::string::npos) return Prompt::Kind::visible;
  return Prompt::Kind::secret;
}

}  // namespace dlaunch
