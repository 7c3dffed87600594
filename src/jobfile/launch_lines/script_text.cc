#include "jobfile/launch_lines/script_text.h"

#include <algorithm>

#include "jobfile/launch_lines/shell_text.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

constexpr auto kNoEnd = std::string_view::npos;
constexpr int kDeepestText = 64;  // nested quotes and groups

/// Reads each character once. Within a substitution it writes nothing: the text of the substitution
/// is kept unchanged.
class ScriptTextReader {
 public:
  explicit ScriptTextReader(std::string_view script) : script_(script) {}

  ScriptText read() {
    commands('\0', 0);
    return std::move(out_);
  }

 private:
  struct HereDocument {
    std::string end;
    bool drops_tabs = false;
    std::size_t at = 0;
  };

  [[nodiscard]] bool is_done() const { return at_ >= script_.size() || out_.mistake; }

  [[nodiscard]] bool is_at(std::string_view text) const {
    return script_.substr(at_, text.size()) == text;
  }

  void fail(std::size_t at, std::string text) {
    if (!out_.mistake) out_.mistake = ScriptMistake{at, std::move(text)};
  }

  void take(std::size_t count) {
    count = std::min(count, script_.size() - at_);
    if (inside_ == 0) out_.text += script_.substr(at_, count);
    at_ += count;
  }

  /// Replaces text outside of commands with blanks, but keeps line feeds.
  void blank_up_to(std::size_t end) {
    for (; at_ < end; ++at_)
      if (inside_ == 0) out_.text += script_[at_] == '\n' ? '\n' : ' ';
  }

  /// Writes `text` in place of the script's text up to `at_`.
  void replace(std::string_view text) {
    out_.text += text;
    out_.offsets.emplace_back(out_.text.size(), at_);
  }

  /// Reads commands up to, but not including, `end`, or to the end of the script.
  void commands(char end, int depth) {
    const std::size_t begin = at_;
    std::vector<HereDocument> documents;
    std::size_t open = 0;
    while (!is_done()) {
      const char c = script_[at_];
      if (c == end && open == 0) return;
      if (c == '\n') {
        take(1);
        skip(documents);
      } else if (begins_comment(script_, at_)) {
        blank_up_to(std::min(script_.find('\n', at_), script_.size()));
      } else if (is_at("<<<")) {
        take(3);
      } else if (is_at("<<")) {
        documents.push_back(here_document());
      } else if (const auto behind = is_at("((") ? behind_arithmetic(at_ + 2) : 0; behind > 0) {
        take(behind - at_);
      } else {
        if (c == '(') ++open;
        if (c == ')' && open > 0) --open;
        part(false, depth);
      }
    }
    if (end != '\0') fail(begin, "a substitution is not closed");
    if (!documents.empty()) skip(documents);
  }

  /// The offset after the "))" that ends arithmetic; 0: no such end, so this is a group in a group.
  [[nodiscard]] std::size_t behind_arithmetic(std::size_t at) const {
    for (std::size_t open = 0; at + 1 < script_.size() && script_[at] != '\n'; ++at) {
      if (script_[at] == '(') ++open;
      if (script_[at] != ')') continue;
      if (open == 0) return script_[at + 1] == ')' ? at + 2 : 0;
      --open;
    }
    return 0;
  }

  /// Reads a quote, an expansion, an escape or another character.
  void part(bool in_quotes, int depth) {
    if (depth > kDeepestText)
      return fail(at_, "quotes or groups are nested more than 64 levels deep");
    const char c = script_[at_];
    if (c == '\\') return take(2);
    if (c == '"') return in_quotes ? take(1) : double_quotes(depth);
    if (c == '\'' && !in_quotes) return single_quotes();
    if (is_at("$'") && !in_quotes) return escapes();
    if (c == '`') return backquotes();
    if (is_at("${")) return braces(in_quotes, depth);
    if (is_at("$((")) {
      if (const auto behind = behind_arithmetic(at_ + 3); behind > 0) return substitute(behind);
    }
    if (is_at("$(")) return group(depth);
    take(1);
  }

  void single_quotes() {
    const auto end = script_.find('\'', at_ + 1);
    if (end == kNoEnd) return fail(at_, "this quote has no end");
    take(end + 1 - at_);
  }

  void double_quotes(int depth) {
    const std::size_t begin = at_;
    take(1);
    while (!is_done() && script_[at_] != '"') part(true, depth + 1);
    if (at_ >= script_.size()) return fail(begin, "this quote has no end");
    take(1);
  }

  /// Writes $'it\'s' as $'it\047s', so that it ends at the next quote mark, like any other quote.
  void escapes() {
    const std::size_t begin = at_;
    take(2);
    while (at_ < script_.size() && script_[at_] != '\'') {
      if (is_at("\\'")) {
        at_ += 2;
        if (inside_ == 0) replace("\\047");
      } else {
        take(script_[at_] == '\\' ? 2 : 1);
      }
    }
    if (at_ >= script_.size()) return fail(begin, "this quote has no end");
    take(1);
  }

  void backquotes() {
    auto end = at_ + 1;
    while (end < script_.size() && script_[end] != '`') end += script_[end] == '\\' ? 2 : 1;
    if (end >= script_.size()) return fail(at_, "this substitution has no end");
    substitute(end + 1);
  }

  void braces(bool in_quotes, int depth) {
    const std::size_t begin = at_;
    take(2);
    while (!is_done() && script_[at_] != '}') part(in_quotes, depth + 1);
    if (at_ >= script_.size()) return fail(begin, "this ${ has no }");
    take(1);
  }

  void group(int depth) {
    const std::size_t begin = at_;
    ++inside_;
    at_ += 2;
    commands(')', depth + 1);
    --inside_;
    if (out_.mistake) return;
    const std::size_t end = at_ + 1;
    at_ = begin;
    substitute(end);
  }

  void substitute(std::size_t end) {
    const std::string_view whole = script_.substr(at_, end - at_);
    at_ = end;
    if (inside_ > 0) return;
    replace(substitution_stand_in(out_.substitutions.size()));
    out_.substitutions.emplace_back(whole);
  }

  HereDocument here_document() {
    HereDocument document{"", script_.substr(at_, 3) == "<<-", at_};
    auto at = at_ + (document.drops_tabs ? 3 : 2);
    at = std::min(script_.find_first_not_of(" \t", at), script_.size());
    char quote = '\0';
    for (; at < script_.size() && script_[at] != '\n'; ++at) {
      const char c = script_[at];
      const bool ends = std::string_view(" \t;|&<>()").find(c) != kNoEnd;
      if (quote == '\0' && ends) break;
      const bool is_mark = c == quote || (quote == '\0' && (c == '"' || c == '\''));
      if (is_mark) quote = quote == '\0' ? c : '\0';
      if (!is_mark && c != '\\') document.end += c;
    }
    const std::size_t begin = at_;
    blank_up_to(at);
    if (inside_ == 0) out_.text.replace(out_.text.size() - (at - begin), 2, "<.");
    return document;
  }

  /// XCU 2.7.4: the lines of here-documents are not commands.
  void skip(std::vector<HereDocument>& documents) {
    for (const HereDocument& document : documents) {
      bool is_found = false;
      while (!is_found && at_ < script_.size()) {
        const auto end = std::min(script_.find('\n', at_), script_.size());
        std::string_view line = script_.substr(at_, end - at_);
        if (document.drops_tabs)
          line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
        is_found = line == document.end;
        blank_up_to(std::min(end + 1, script_.size()));
      }
      if (!is_found)
        fail(document.at, "this here-document has no line \"" + document.end + "\" at its end");
    }
    documents.clear();
  }

  std::string_view script_;
  std::size_t at_ = 0;
  int inside_ = 0;  // depth of substitutions
  ScriptText out_;
};

}  // namespace

std::size_t ScriptText::source_offset(std::size_t at) const {
  const auto next = std::upper_bound(offsets.begin(), offsets.end(), at,
                                     [](std::size_t a, const auto& one) { return a < one.first; });
  if (next == offsets.begin()) return at;
  return std::prev(next)->second + (at - std::prev(next)->first);
}

ScriptText read_script_text(std::string_view script) {
  return ScriptTextReader(script).read();
}

}  // namespace dlaunch::jobfile
