#include "jobfile/launch_lines/shell_text.h"

#include <algorithm>
#include <array>

#include "jobfile/scalar.h"
#include "jobfile/shell_quote.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

constexpr auto kNowhere = std::string_view::npos;

bool is_of_name(char c) {
  return is_letter_or_digit(c) || c == '_';
}

/// Finds the ends of quotes and groups. After a group without an end it passes single characters
/// instead of searching for the ends of groups, so the time stays linear.
class EndFinder {
 public:
  explicit EndFinder(std::string_view text) : text_(text) {}

  /// The offset after the quoted text, the escape or the character at `at`. Substitutions in double
  /// quotes may hold quotes of their own.
  std::size_t behind(std::size_t at) {
    const char c = text_[at++];
    if (c == '\\') return std::min(at + 1, text_.size());
    if (c == '\'') return std::min(text_.find('\'', at), text_.size() - 1) + 1;
    if (c != '"') return at;
    while (at < text_.size() && text_[at] != '"') {
      const auto end = text_[at] == '$' || text_[at] == '`' ? behind_expansion(at) : kNowhere;
      if (end != kNowhere) {
        at = end;
      } else {
        at += text_[at] == '\\' ? 2 : 1;
      }
    }
    return std::min(at + 1, text_.size());
  }

  /// The offset after the expansion at `at`, "$(...)", "${...}" or "`...`"; npos: no expansion, or
  /// it has no end.
  std::size_t behind_expansion(std::size_t at) {
    if (has_no_end_ || depth_ > kDeepest) return kNowhere;
    if (text_[at] == '`') {
      const auto end = text_.find('`', at + 1);
      return end == kNowhere ? end : end + 1;
    }
    const bool is_braced = text_.substr(at, 2) == "${";
    if (!is_braced && text_.substr(at, 2) != "$(") return kNowhere;
    ++depth_;
    const auto end = is_braced ? behind_group(at + 2, '{', '}') : behind_group(at + 2, '(', ')');
    --depth_;
    has_no_end_ = has_no_end_ || end == kNowhere;
    return end;
  }

 private:
  static constexpr int kDeepest = 64;

  /// The offset after the group whose content begins at `at`.
  std::size_t behind_group(std::size_t at, char open, char close) {
    for (std::size_t depth = 1; at < text_.size();) {
      const char c = text_[at];
      at = behind(at);
      if (c == open) ++depth;
      if (c == close && --depth == 0) return at;
    }
    return kNowhere;
  }

  std::string_view text_;
  int depth_ = 0;
  bool has_no_end_ = false;
};

std::size_t behind(std::string_view text, std::size_t at) {
  return EndFinder(text).behind(at);
}

std::size_t behind_expansion(std::string_view text, std::size_t at) {
  return EndFinder(text).behind_expansion(at);
}

constexpr std::string_view kStandIn = "${DLAUNCH_INIT_";

class Expander {
 public:
  Expander(std::string_view word, const VariableValue& value_of)
      : word_(word), value_of_(value_of), ends_(word) {}

  ExpandedWord expand() {
    while (at_ < word_.size()) step();
    return std::move(out_);
  }

 private:
  void step() {
    const char c = word_[at_];
    if (c == '\\') return escape();
    if (c == '$' || c == '`') return expansion();
    if (c == '\'' && !in_quotes_) {
      const auto end = behind(word_, at_);
      const std::string_view whole = word_.substr(at_, end - at_);
      const bool is_closed = whole.size() > 1 && whole.ends_with('\'');
      out_.text += whole.substr(1, whole.size() - (is_closed ? 2 : 1));
      out_.spelled += whole;
      at_ = end;
      return;
    }
    if (c == '"') {
      in_quotes_ = !in_quotes_;
    } else {
      out_.text += c;
    }
    if (c == '~' && !in_quotes_ && at_ == 0) out_.is_known = false;  // a home folder
    out_.spelled += c;
    ++at_;
  }

  void escape() {
    const std::string_view pair = word_.substr(at_, 2);
    at_ += pair.size();
    if (pair == "\\\n" || pair.size() < 2) return;
    const bool escapes = !in_quotes_ || std::string_view("$`\"\\").find(pair[1]) != kNowhere;
    out_.text += escapes ? pair.substr(1) : pair;
    out_.spelled += pair;
  }

  void expansion() {
    const std::size_t begin = at_;
    const bool is_braced = word_.substr(at_, 2) == "${";
    std::size_t end = ends_.behind_expansion(at_);
    const std::size_t name_at = begin + (is_braced ? 2 : 1);
    std::size_t name_end = name_at;
    while (word_[begin] == '$' && name_end < word_.size() && is_of_name(word_[name_end]))
      ++name_end;
    const std::string_view name = word_.substr(name_at, name_end - name_at);
    if (end == kNowhere) end = std::max(name_end, begin + 1);
    const bool is_special = end == begin + 1 && end < word_.size() &&
                            std::string_view("@*#?$!-").find(word_[end]) != kNowhere;
    if (is_special) ++end;
    const bool begins_quotes =
        end < word_.size() && !in_quotes_ && (word_[end] == '\'' || word_[end] == '"');
    at_ = end;
    const std::string_view whole = word_.substr(begin, end - begin);
    if (whole == "$" && !begins_quotes) return add_literal(whole);
    const std::string_view rest = is_braced && whole.ends_with('}') && name_end < end
                                      ? word_.substr(name_end, end - 1 - name_end)
                                      : std::string_view();
    add_variable(whole, name, rest);
  }

  void add_literal(std::string_view text) {
    out_.text += text;
    out_.spelled += text;
  }

  /// `rest`: the text after the name in braces.
  void add_variable(std::string_view whole, std::string_view name, std::string_view rest) {
    const bool has_default = rest.starts_with(":-") || rest.starts_with(":=");
    auto value = name.empty() ? std::nullopt : value_of_(name);
    if (!rest.empty() && !has_default) value.reset();
    const bool is_too_long = value && out_.text.size() + value->size() > kLongestValue;
    if (value && !is_too_long && !(has_default && value->empty())) return add_value(*value);
    if (!has_default || name.empty() || is_too_long) {
      out_.is_known = false;
      return add_literal(whole);
    }
    const ExpandedWord other = expanded(rest.substr(2), value_of_);
    out_.is_known = out_.is_known && other.is_known;
    out_.text += other.text;
    // The variable may have a value in the shell of the ranks.
    out_.spelled += "${" + std::string(name) + std::string(rest.substr(0, 2)) + other.spelled + '}';
  }

  void add_value(const std::string& value) {
    out_.text += value;
    if (in_quotes_) {
      append_in_double_quotes(out_.spelled, value);
    } else {
      out_.spelled += unquoted_value(value);
    }
  }

  std::string_view word_;
  const VariableValue& value_of_;
  EndFinder ends_;
  std::size_t at_ = 0;
  bool in_quotes_ = false;
  ExpandedWord out_;
};

}  // namespace

bool declares(std::string_view word) {
  constexpr std::array<std::string_view, 4> kWords{"declare", "local", "readonly", "typeset"};
  return contains(kWords, word);
}

std::string_view without_declaration(std::string_view line) {
  line = trimmed(line);
  const auto first = line.substr(0, line.find(' '));
  if (first.size() == line.size() || (!declares(first) && first != "export")) return line;
  do {
    line = trimmed(line.substr(std::min(line.find(' '), line.size())));
  } while (line.starts_with('-'));
  return line;
}

bool begins_array(std::string_view line) {
  line = without_declaration(line);
  const auto open = line.find("=(");
  if (open == kNowhere) return false;
  const std::size_t plus = open > 0 && line[open - 1] == '+' ? 1 : 0;
  return is_assignment(std::string(line.substr(0, open - plus)) + '=');
}

bool prepares_shell(std::string_view word, std::string_view line) {
  constexpr std::array<std::string_view, 9> kWords{
      "source", ".", "module", "ml", "conda", "mamba", "spack", "micromamba", "ulimit"};
  return contains(kWords, word) || (word == "eval" && line.find("conda") != std::string_view::npos);
}

ExpandedWord expanded(std::string_view spelled, const VariableValue& value_of) {
  return Expander(spelled, value_of).expand();
}

std::string with_values(std::string text, const VariableValue& value_of) {
  constexpr std::size_t kLongest = 64 * 1024;
  constexpr int kMostVariables = 500;  // variables may refer to each other
  // A shell does not interpret quotes and operators in the value of a variable.
  constexpr const char* kSpecial = "\"'\\;&|<>()`";
  int count = 0;
  for (auto at = text.find('$'); at != kNowhere && count < kMostVariables;
       at = text.find('$', at)) {
    const bool is_braced = text.compare(at, 2, "${") == 0;
    const auto begin = at + (is_braced ? 2 : 1);
    auto end = begin;
    while (end < text.size() && is_of_name(text[end])) ++end;
    const bool is_whole = !is_braced || (end < text.size() && text[end] == '}');
    auto value = value_of(std::string_view(text).substr(begin, end - begin));
    if (!is_whole || !value || value->find_first_of(kSpecial) != kNowhere ||
        text.size() + value->size() > kLongest) {
      at = end;
      continue;
    }
    std::replace(value->begin(), value->end(), '\n', ' ');
    text.replace(at, end - at + (is_braced ? 1 : 0), *value);
    ++count;
  }
  return text;
}

std::string unquoted_value(std::string_view value) {
  if (value.empty()) return "";
  const auto spelled = [](std::string_view word) {
    const bool is_pattern = word.find_first_not_of(
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:,@%+=*?[]") == kNowhere;
    return is_pattern ? std::string(word) : shell_quote(word);
  };
  const bool begins = trimmed(value.substr(0, 1)).empty();
  const bool ends = trimmed(value.substr(value.size() - 1)).empty();
  return (begins ? " " : "") + joined(split_words(value), " ", spelled) + (ends ? " " : "");
}

ShellCommand literal_words(const std::vector<std::string>& words) {
  ShellCommand command;
  for (const std::string& word : words) command.push_back({word, shell_quote(word)});
  return command;
}

bool needs_bash(std::string_view spelled) {
  for (std::size_t at = 0; at < spelled.size(); at = behind(spelled, at)) {
    const std::string_view two = spelled.substr(at, 2);
    if (two == "$'" || two == "$\"" || two == "<(" || two == ">(") return true;
    if (two[0] == '{' && (at == 0 || spelled[at - 1] != '$')) return true;
  }
  for (auto at = spelled.find("${"); at != kNowhere; at = spelled.find("${", at + 1)) {
    const auto end = std::min(behind_expansion(spelled, at), spelled.size());
    auto rest = spelled.substr(at + 2, end - at - 2);
    while (!rest.empty() && is_of_name(rest.front())) rest.remove_prefix(1);
    const bool is_offset =
        rest.size() > 1 && rest[0] == ':' && (is_digit(rest[1]) || rest[1] == ' ');
    if (is_offset || (!rest.empty() && std::string_view("/[^,@!").find(rest[0]) != kNowhere))
      return true;
  }
  return false;
}

std::size_t end_of_group(std::string_view text, std::size_t at) {
  std::size_t depth = 1;
  while (at < text.size()) {
    if (begins_comment(text, at)) {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at;
    at = behind(text, at);
  }
  return kNowhere;
}

bool begins_comment(std::string_view text, std::size_t at) {
  return text[at] == '#' &&
         (at == 0 || std::string_view(" \t\n;&|()").find(text[at - 1]) != kNowhere);
}

std::size_t behind_part(std::string_view text, std::size_t at) {
  const auto end = text[at] == '$' ? behind_expansion(text, at) : kNowhere;
  return end == kNowhere ? behind(text, at) : end;
}

std::string substitution_stand_in(std::size_t number) {
  return std::string(kStandIn) + std::to_string(number) + '}';
}

std::string with_substitutions(std::string text, const std::vector<std::string>& substitutions) {
  std::string out;
  std::string_view rest = text;
  for (auto at = rest.find(kStandIn); at != kNowhere; at = rest.find(kStandIn)) {
    const auto end = std::min(rest.find('}', at), rest.size() - 1);
    const auto number = parse_integer(rest.substr(at + kStandIn.size(), end - at - kStandIn.size()));
    const bool is_one = number && *number >= 0 &&
                        static_cast<std::size_t>(*number) < substitutions.size();
    out += rest.substr(0, at);
    out += is_one ? substitutions[static_cast<std::size_t>(*number)]
                  : std::string(rest.substr(at, end + 1 - at));
    rest.remove_prefix(end + 1);
  }
  out += rest;
  return out;
}

bool is_secret(std::string_view name) {
  constexpr std::array<std::string_view, 6> kEnds{"KEY",      "TOKEN",  "SECRET",
                                                  "PASSWORD", "PASSWD", "CREDENTIALS"};
  // These count only as whole words, because COMPAT, BYPASS and OLDPWD end in them.
  constexpr std::array<std::string_view, 5> kWords{"PASS", "PAT", "PWD", "PASSPHRASE", "AUTH"};
  const std::string capitals = upper(name);
  const std::string_view last = std::string_view(capitals).substr(capitals.rfind('_') + 1);
  if (contains(kWords, last) && capitals != "PWD") return true;
  return std::any_of(kEnds.begin(), kEnds.end(),
                     [&](std::string_view end) { return capitals.ends_with(end); });
}

}  // namespace dlaunch::jobfile
