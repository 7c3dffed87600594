#include "spec/dialects/simple_commands.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace dlaunch::spec {

namespace {

/// XCU 2.3, 2.10: words end at blanks and operators, commands at operators of control.
class CommandSplitter {
 public:
  explicit CommandSplitter(std::string_view text) : text_(text) {}

  std::vector<std::vector<std::string>> split() {
    while (at_ < text_.size()) step();
    while (!outer_.empty()) leave();  // "$(" without an end
    end_command();
    return std::move(commands_);
  }

 private:
  /// A command that goes on when the substitution in it has ended.
  struct Outer {
    std::vector<std::string> words;
    std::optional<std::string> word;
    bool drops_next = false;
    char end = ')';
  };

  [[nodiscard]] char peek(std::size_t ahead = 1) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  std::string& word() {
    if (!word_) word_.emplace();
    return *word_;
  }

  void end_word() {
    if (word_ && !drops_next_) words_.push_back(std::move(*word_));
    if (word_) drops_next_ = false;
    word_.reset();
  }

  void end_command() {
    end_word();
    drops_next_ = false;
    if (!words_.empty()) commands_.push_back(std::exchange(words_, {}));
  }

  void enter(char end) {
    outer_.push_back({std::exchange(words_, {}), std::exchange(word_, std::nullopt),
                      std::exchange(drops_next_, false), end});
  }

  void leave() {
    end_command();
    Outer outer = std::move(outer_.back());
    outer_.pop_back();
    words_ = std::move(outer.words);
    word_ = std::move(outer.word);
    drops_next_ = outer.drops_next;
  }

  void step() {
    const char c = text_[at_];
    if (c == '\\') return escape();
    if (c == '\'') return single_quotes();
    if (c == '"') return double_quotes();
    if (c == '$') return dollar();
    if (c == '`') return backquote();
    if (c == '<' || c == '>') return redirect();
    if (c == '#' && !word_) return comment();
    ++at_;
    if (c == ' ' || c == '\t') return end_word();
    if (c == '\n') return line_feed();
    if (c == '&' && peek(0) == '>') return;  // "&> file" redirects
    if (c == ';' || c == '&' || c == '|' || c == '(') return end_command();
    if (c == ')') return close();
    word() += c;
  }

  void close() {
    const bool ends_substitution = !outer_.empty() && outer_.back().end == ')';
    if (ends_substitution) return leave();
    end_command();
  }

  void escape() {
    const char next = peek();
    at_ += 2;
    if (next != '\n' && at_ <= text_.size()) word() += next;
  }

  void single_quotes() {
    const auto end = std::min(text_.find('\'', at_ + 1), text_.size());
    word() += text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
  }

  /// XCU 2.2.3. A substitution in quotes stays a part of the word.
  void double_quotes() {
    std::string& word = this->word();
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      const bool escapes = text_[at_] == '\\' && at_ + 1 < text_.size() &&
                           std::string_view("$`\"\\\n").find(text_[at_ + 1]) != text_.npos;
      if (escapes && text_[++at_] == '\n') continue;
      word += text_[at_];
    }
    ++at_;
  }

  void dollar() {
    word() += '$';
    ++at_;
    if (peek(0) == '(') {
      ++at_;
      enter(')');
    } else if (peek(0) == '{') {
      const auto end = std::min(text_.find('}', at_), text_.size() - 1);
      word() += text_.substr(at_, end + 1 - at_);
      at_ = end + 1;
    }
  }

  void backquote() {
    ++at_;
    if (!outer_.empty() && outer_.back().end == '`') return leave();
    word();
    enter('`');
  }

  void comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  /// "2> file", ">&2", "<<END": the word behind it belongs to it.
  void redirect() {
    const bool is_number = word_ && word_->find_first_not_of("0123456789") == std::string::npos;
    if (is_number) word_.reset();
    end_word();
    const auto begin = at_;
    at_ = std::min(text_.find_first_not_of("<>&|-", at_), text_.size());
    const std::string_view sign = text_.substr(begin, at_ - begin);
    if (sign == "<<" || sign == "<<-") return here_document(sign == "<<-");
    if (peek(0) == '(') {  // "<(command)"
      word();
      ++at_;
      return enter(')');
    }
    drops_next_ = !sign.ends_with('-');  // ">&-" closes
  }

  /// XCU 2.7.4: its lines are no commands.
  void here_document(bool drops_tabs) {
    const auto first = std::min(text_.find_first_not_of(" \t", at_), text_.size());
    const auto last = std::min(text_.find_first_of(" \t\n;&|<>()", first), text_.size());
    std::string end(text_.substr(first, last - first));
    std::erase_if(end, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
    at_ = last;
    if (!end.empty()) documents_.push_back({std::move(end), drops_tabs});
  }

  void line_feed() {
    end_command();
    for (const HereDocument& document : std::exchange(documents_, {})) skip(document);
  }

  struct HereDocument {
    std::string end;
    bool drops_tabs;
  };

  void skip(const HereDocument& document) {
    while (at_ < text_.size()) {
      const auto end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      if (document.drops_tabs)
        line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line == document.end) return;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::vector<std::string>> commands_;
  std::vector<std::string> words_;
  std::optional<std::string> word_;
  bool drops_next_ = false;  // the next word belongs to a redirection
  std::vector<Outer> outer_;
  std::vector<HereDocument> documents_;
};

}  // namespace

std::vector<std::vector<std::string>> simple_commands(std::string_view text) {
  return CommandSplitter(text).split();
}

}  // namespace dlaunch::spec
