#include "jobfile/dialects/shell_words.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "jobfile/shell_quote.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

bool begins_name(char c) {
  return is_letter(c) || c == '_';
}

/// The length of "$NAME" or "${NAME}" at `at`; 0: no variable.
std::size_t variable_at(std::string_view text, std::size_t at) {
  if (text[at] != '$') return 0;
  const bool braces = at + 1 < text.size() && text[at + 1] == '{';
  std::size_t end = at + 1 + (braces ? 1U : 0U);
  if (end >= text.size() || !begins_name(text[end])) return 0;
  while (end < text.size() && (begins_name(text[end]) || is_digit(text[end]))) ++end;
  if (!braces) return end - at;
  return end < text.size() && text[end] == '}' ? end + 1 - at : 0;
}

}  // namespace

void append_in_double_quotes(std::string& word, std::string_view text) {
  for (const char c : text) {
    // XCU 2.2.3: characters that are special in double quotes.
    if (std::string_view("\"\\$`").find(c) != std::string_view::npos) word += '\\';
    word += c;
  }
}

std::string quote_but_variables(std::string_view text) {
  std::string out;
  bool has_variable = false;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t length = variable_at(text, i); length > 0) {
      has_variable = true;
      out += text.substr(i, length);
      i += length;
      continue;
    }
    append_in_double_quotes(out, text.substr(i++, 1));
  }
  return has_variable ? '"' + out + '"' : shell_quote(text);
}

std::optional<std::vector<std::string>> simple_words(std::string_view line) {
  constexpr std::string_view kMeaning = ";&|()<>$`*?[#~=\n";
  std::vector<std::string> words;
  std::optional<std::string> word;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == ' ' || c == '\t') {
      if (word) words.push_back(std::move(*word));
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    if (c == '\'') {
      const auto end = line.find('\'', i + 1);
      if (end == std::string_view::npos) return std::nullopt;
      *word += line.substr(i + 1, end - i - 1);
      i = end;
    } else if (c == '"') {
      for (++i; i < line.size() && line[i] != '"'; ++i) {
        if (line[i] == '$' || line[i] == '`') return std::nullopt;
        // XCU 2.2.3: a backslash is literal except before these characters.
        const bool escapes = line[i] == '\\' && i + 1 < line.size() &&
                             std::string_view("$`\"\\\n").find(line[i + 1]) != line.npos;
        if (escapes && line[++i] == '\n') continue;
        *word += line[i];
      }
      if (i >= line.size()) return std::nullopt;
    } else if (c == '\\') {
      if (++i >= line.size()) return std::nullopt;
      if (line[i] == '\n') {
        if (word->empty()) word.reset();
      } else {
        *word += line[i];
      }
    } else if (kMeaning.find(c) != std::string_view::npos) {
      // "NAME=value" is an assignment before a program, but not among its arguments.
      const bool is_argument = c == '=' && !words.empty();
      if (!is_argument) return std::nullopt;
      *word += c;
    } else {
      *word += c;
    }
  }
  if (word) words.push_back(std::move(*word));
  return words;
}

namespace {

/// XCU 2.3, 2.10: words end at blanks and operators, commands at control operators.
class CommandSplitter {
 public:
  explicit CommandSplitter(std::string_view text) : text_(text) {}

  std::vector<ShellCommand> split() {
    while (at_ < text_.size()) step();
    step_ = text_.size();
    while (!outer_.empty()) leave();  // "$(" without an end
    end_command();
    return std::move(commands_);
  }

 private:
  struct Word {
    std::string text;
    std::size_t begin = 0;
  };

  /// A command that continues after a substitution inside it.
  struct Outer {
    ShellCommand words;
    std::optional<Word> word;
    bool drops_next = false;
    char end = ')';
  };

  [[nodiscard]] char peek(std::size_t ahead = 1) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  std::string& word() {
    if (!word_) word_ = Word{"", step_};
    return word_->text;
  }

  void end_word() {
    if (word_ && !drops_next_) {
      const auto end = std::min(step_, text_.size());
      words_.push_back(
          {std::move(word_->text), std::string(text_.substr(word_->begin, end - word_->begin))});
    }
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
    step_ = at_;
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

  /// Reads double quotes (XCU 2.2.3). A substitution in them stays part of the word.
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
      const auto end = end_of_braces();
      word() += text_.substr(at_, end - at_);
      at_ = end;
    } else if (peek(0) == '\'') {  // $'it\'s'
      word().pop_back();
      for (++at_; at_ < text_.size() && text_[at_] != '\''; ++at_) {
        word() += text_[at_];
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) word() += text_[++at_];
      }
      ++at_;
    }
  }

  /// The offset after the "}" for the "{" at `at_`; a "}" in quotes, as in ${A:-'}'}, does not
  /// count.
  [[nodiscard]] std::size_t end_of_braces() const {
    std::size_t depth = 0;
    for (std::size_t at = at_; at < text_.size(); ++at) {
      const char c = text_[at];
      const auto quote = c == '\'' || c == '"' ? text_.find(c, at + 1) : std::string_view::npos;
      if (c == '\\') {
        ++at;
      } else if (quote != std::string_view::npos) {
        at = quote;
      } else if (c == '{') {
        ++depth;
      } else if (c == '}' && --depth == 0) {
        return at + 1;
      }
    }
    return std::min(text_.find('}', at_), text_.size() - 1) + 1;
  }

  void backquote() {
    ++at_;
    if (!outer_.empty() && outer_.back().end == '`') return leave();
    word();
    enter('`');
  }

  void comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  /// Skips a redirection ("2> file", ">&2", "<<END") and the word that belongs to it.
  void redirect() {
    const bool is_number =
        word_ && word_->text.find_first_not_of("0123456789") == std::string::npos;
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

  /// XCU 2.7.4: the lines of a here-document are not commands.
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
  std::size_t step_ = 0;  // where the current character, quote or expansion begins
  std::vector<ShellCommand> commands_;
  ShellCommand words_;
  std::optional<Word> word_;
  bool drops_next_ = false;  // the next word belongs to a redirection
  std::vector<Outer> outer_;
  std::vector<HereDocument> documents_;
};

}  // namespace

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos || !begins_name(word.front())) return false;
  std::string_view name = word.substr(0, equals);
  if (name.ends_with('+')) name.remove_suffix(1);
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return begins_name(c) || is_digit(c); });
}

std::vector<std::string> texts_of(const ShellCommand& command) {
  std::vector<std::string> texts;
  for (const ShellWord& word : command) texts.push_back(word.text);
  return texts;
}

std::vector<ShellCommand> shell_commands(std::string_view text) {
  return CommandSplitter(text).split();
}

std::vector<std::vector<std::string>> simple_commands(std::string_view text) {
  std::vector<std::vector<std::string>> commands;
  for (const ShellCommand& command : shell_commands(text)) commands.push_back(texts_of(command));
  return commands;
}

}  // namespace dlaunch::jobfile
