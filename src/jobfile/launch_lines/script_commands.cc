#include "jobfile/launch_lines/script_commands.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jobfile/launch_lines/shell_text.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

constexpr auto kNoPlace = std::string_view::npos;

class ScriptSplitter {
 public:
  explicit ScriptSplitter(std::string_view text) : text_(text) {}

  ScriptCommands split() {
    while (at_ < text_.size() && !out_.mistake) step();
    end_command();
    if (!open_.empty())
      fail(open_.back().begin, "the group or command that begins here is not closed");
    return std::move(out_);
  }

 private:
  using After = ScriptCommand::After;
  enum class Kind { parentheses, function, braces, compound, choice, loop };
  struct Open {
    Kind kind;
    std::size_t begin;
    bool is_for_some;
    std::string_view header;
  };

  [[nodiscard]] bool is_at(std::string_view text) const {
    return text_.substr(at_, text.size()) == text;
  }

  void fail(std::size_t at, std::string text) {
    if (!out_.mistake) out_.mistake = ScriptMistake{at, std::move(text)};
  }

  void step() {
    const char c = text_[at_];
    if (c == ' ' || c == '\t') {
      ++at_;
    } else if (is_at("\\\n")) {
      at_ += 2;
    } else if (c == '\n' || c == ';') {
      separator();
    } else if (is_at("&&") || is_at("||")) {
      end_command();
      after_ = c == '&' ? After::and_if : After::or_if;
      at_ += 2;
    } else if (c == '|') {
      if (is_begun()) now_.is_before_pipe = true;
      end_command();
      after_ = After::pipe;
      at_ += is_at("|&") ? 2 : 1;
    } else if (c == '<' || c == '>' || is_at("&>")) {
      redirect();
    } else if (c == '&') {
      end_command();
      ++at_;
    } else if (c == '(' || c == ')') {
      parenthesis(c);
    } else {
      word();
    }
  }

  [[nodiscard]] bool is_begun() const { return now_.begin != kNoPlace; }

  void begin_command() {
    if (!is_begun()) now_.begin = at_;
  }

  void separator() {
    end_command();
    const bool ends_case = is_at(";;") || is_at(";&");
    at_ += ends_case ? 2 : 1;
    if (ends_case && !open_.empty() && open_.back().kind == Kind::choice) is_pattern_ = true;
  }

  void end_command() {
    if (!is_begun()) return;
    now_.text = trimmed(text_.substr(now_.begin, at_ - now_.begin));
    now_.after = after_;
    now_.reads_input = now_.reads_input || after_ == After::pipe;
    if (!open_.empty() && open_.back().header.empty())
      open_.back().header = trimmed(text_.substr(open_.back().begin, at_ - open_.back().begin));
    for (const Open& one : open_) {
      now_.is_inside =
          now_.is_inside || one.kind == Kind::parentheses || one.kind == Kind::function;
      now_.is_for_some = now_.is_for_some || one.is_for_some;
      if (one.kind == Kind::loop) now_.loop = one.header;
    }
    if (is_header_) {
      is_pattern_ = open_.back().kind == Kind::choice;
    } else if (!is_dropped_ && !is_pattern_) {
      out_.commands.push_back(now_);
    }
    is_header_ = is_dropped_ = false;
    after_ = After::none;
    words_ = 0;
    now_ = {};
    now_.begin = kNoPlace;
  }

  void push(Kind kind) {
    if (is_function_ && (kind == Kind::braces || kind == Kind::parentheses)) kind = Kind::function;
    is_function_ = false;
    open_.push_back({kind, at_, kind >= Kind::compound || after_ != After::none, ""});
  }

  void pop(bool is_of_kind) {
    if (open_.empty() || !is_of_kind) return fail(at_, "this closes nothing that was opened above");
    open_.pop_back();
  }

  void parenthesis(char c) {
    if (c == ')') return close();
    if (is_pattern_) {  // "(a)" in a case
      ++at_;
      return;
    }
    if ((!is_begun() || is_header_) && is_at("((")) {
      begin_command();
      const auto end = text_.find("))", at_);
      if (end == kNoPlace) return fail(at_, "this (( has no ))");
      at_ = end + 2;
      words_ = 1;
      return;
    }
    if (!is_begun()) {
      push(Kind::parentheses);
      ++at_;
      return;
    }
    const auto next = text_.find_first_not_of(" \t", at_ + 1);
    if (words_ != 1 || next == kNoPlace || text_[next] != ')')
      return fail(at_, "this parenthesis is not understood");
    at_ = next + 1;
    is_dropped_ = is_function_ = true;
    end_command();
  }

  void close() {
    if (is_pattern_) {
      end_command();
      is_header_ = is_pattern_ = false;
      after_ = After::none;
      ++at_;
      return;
    }
    end_command();
    const Kind kind = open_.empty() ? Kind::braces : open_.back().kind;
    if (kind == Kind::choice) {  // "case $1 in a)" on one line
      ++at_;
      return;
    }
    // The body of a function may be in parentheses, too.
    pop(kind == Kind::parentheses || (kind == Kind::function && text_[open_.back().begin] == '('));
    ++at_;
  }

  /// The offset after the word at `at`; an array's parentheses belong to the word.
  [[nodiscard]] std::size_t behind_word(std::size_t at) const {
    const std::size_t begin = at;
    while (at < text_.size() && std::string_view(" \t\n;&|()<>").find(text_[at]) == kNoPlace) {
      at = std::min(behind_part(text_, at), text_.size());
      const std::string_view word = text_.substr(begin, at - begin);
      if (at >= text_.size() || text_[at] != '(' || !word.ends_with('=') || !is_assignment(word))
        continue;
      const auto end = end_of_group(text_, at + 1);
      at = end == kNoPlace ? text_.size() : end + 1;
    }
    return at;
  }

  void word() {
    const auto end = behind_word(at_);
    const std::string_view word = text_.substr(at_, end - at_);
    const bool is_first = !is_begun() && (!is_pattern_ || word == "esac");
    if (is_first && word == "function") return function(end);
    if (is_first && word == "[[") return test();
    if (is_first && reserved(word)) {
      at_ = end;
      return;
    }
    const bool is_name_of_loop = is_header_ && words_ == 1 && open_.back().kind == Kind::loop;
    if (is_name_of_loop) out_.loop_variables.emplace_back(word);
    begin_command();
    ++words_;
    at_ = end;
    const bool is_descriptor = at_ < text_.size() && (text_[at_] == '<' || text_[at_] == '>') &&
                               word.find_first_not_of("0123456789") == kNoPlace;
    descriptor_ = is_descriptor ? word : "";
    // "case $1 in": patterns follow on this line or the next one.
    if (is_header_ && word == "in" && open_.back().kind == Kind::choice) end_command();
  }

  /// True: the word was reserved and needs no further handling.
  bool reserved(std::string_view word) {
    constexpr std::array<std::string_view, 5> kBefore{"then", "do", "else", "elif", "!"};
    const Kind kind = open_.empty() ? Kind::function : open_.back().kind;
    bool is_done = true;
    if (word == "{") {
      push(Kind::braces);
    } else if (word == "}") {
      pop(kind == Kind::braces || kind == Kind::function);
    } else if (word == "if") {
      push(Kind::compound);
    } else if (word == "while" || word == "until") {
      push(Kind::loop);
    } else if (word == "fi" || word == "done" || word == "esac") {
      pop(kind == (word == "fi" ? Kind::compound : word == "done" ? Kind::loop : Kind::choice));
      is_dropped_ = true;  // with its redirections
      is_pattern_ = is_done = false;
    } else if (word == "for" || word == "select" || word == "case") {
      push(word == "case" ? Kind::choice : Kind::loop);
      is_header_ = true;
      is_done = false;
    } else {
      is_done = contains(kBefore, word);
    }
    return is_done;
  }

  /// "function name {", "function name() {"
  void function(std::size_t end) {
    at_ = std::min(text_.find_first_not_of(" \t", end), text_.size());
    at_ = std::min(text_.find_first_not_of(" \t()", behind_word(at_)), text_.size());
    is_function_ = true;
  }

  void test() {
    begin_command();
    words_ = 1;
    const auto end = text_.find("]]", at_);
    if (end == kNoPlace) return fail(at_, "this [[ has no ]]");
    at_ = end + 2;
  }

  void redirect() {
    begin_command();
    const std::size_t begin = at_;
    const std::string_view descriptor = std::exchange(descriptor_, "");
    if (is_at("<(") || is_at(">(")) {
      const auto end = end_of_group(text_, at_ + 2);
      if (end == kNoPlace) return fail(at_, "this substitution has no end");
      at_ = end + 1;
      return;
    }
    at_ = std::min(text_.find_first_not_of("<>&|", at_), text_.size());
    const std::string_view sign = text_.substr(begin, at_ - begin);
    at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
    if (sign == "<" && is_at("<(")) {  // "< <(command)"
      now_.reads_input = true;
      return redirect();
    }
    const auto end = behind_word(at_);
    const bool is_input = sign.starts_with('<') && (descriptor.empty() || descriptor == "0") &&
                          text_.substr(at_, end - at_) != "/dev/null";
    now_.reads_input = now_.reads_input || is_input;
    at_ = end;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  ScriptCommands out_;
  ScriptCommand now_{.text = "", .begin = kNoPlace, .loop = ""};
  After after_ = After::none;
  std::size_t words_ = 0;
  std::string_view descriptor_;  // "2" of "2>"
  std::vector<Open> open_;
  bool is_function_ = false;  // a function's body follows
  bool is_header_ = false;    // of a loop or a case
  bool is_pattern_ = false;   // of a case
  bool is_dropped_ = false;
};

}  // namespace

ScriptCommands script_commands(std::string_view text) {
  return ScriptSplitter(text).split();
}

}  // namespace dlaunch::jobfile
