#include "jobfile/hostfile_syntax.h"

#include <algorithm>
#include <cstdint>

#include "jobfile/host_name.h"

namespace dlaunch::jobfile {

namespace {

constexpr std::size_t kMostWords = 64;  // far more than any format needs

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

SourceRange range_at(std::size_t begin, std::size_t end) {
  return {0, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)};
}

class Lexer {
 public:
  Lexer(std::string_view text, Diagnostics& diagnostics) : text_(text), diagnostics_(diagnostics) {}

  std::vector<HostfileLine> lines() {
    std::vector<HostfileLine> lines;
    while (at_ < text_.size()) {
      std::vector<HostfileWord> words = words_of_line();
      if (!words.empty()) lines.push_back(line_of_words(words));
    }
    return lines;
  }

 private:
  /// Reads up to the line feed; a line feed inside a comment does not end the line.
  std::vector<HostfileWord> words_of_line() {
    std::vector<HostfileWord> words;
    while (at_ < text_.size() && text_[at_] != '\n') {
      if (is_blank(text_[at_])) {
        ++at_;
      } else if (!skip_comment()) {
        words.push_back(next_word());
        if (words.size() > kMostWords) return refuse_line(words.back().range);
      }
    }
    ++at_;
    return words;
  }

  std::vector<HostfileWord> refuse_line(SourceRange range) {
    diagnostics_.error(range, "there is too much text after the host");
    at_ = std::min(text_.find('\n', at_), text_.size()) + 1;
    return {};
  }

  [[nodiscard]] bool at_comment(std::size_t at) const {
    return text_[at] == '#' || text_.substr(at, 2) == "//" || text_.substr(at, 2) == "/*";
  }

  bool skip_comment() {
    if (!at_comment(at_)) return false;
    if (text_.substr(at_, 2) != "/*") {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return true;
    }
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos)
      diagnostics_.error(range_at(at_, at_ + 2), "this comment is not closed with \"*/\"");
    at_ = end == std::string_view::npos ? text_.size() : end + 2;
    return true;
  }

  HostfileWord next_word() {
    const std::size_t begin = at_;
    if (text_[at_] == '=') {
      ++at_;
    } else {
      while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '=' &&
             !is_blank(text_[at_]) && !at_comment(at_))
        ++at_;
    }
    return {text_.substr(begin, at_ - begin), range_at(begin, at_)};
  }

  static HostfileLine line_of_words(const std::vector<HostfileWord>& words) {
    const auto is_equals = [&](std::size_t i) { return i < words.size() && words[i].text == "="; };
    HostfileLine line;
    line.begins_with_setting = is_equals(0) || is_equals(1);
    line.host = words[0];
    for (std::size_t i = line.begins_with_setting ? 0 : 1; i < words.size(); ++i) {
      if (!is_equals(i) && !is_equals(i + 1)) {
        line.words.push_back(words[i]);
        continue;
      }
      HostfileSetting setting;
      setting.key = words[i];
      if (!is_equals(i)) ++i;
      if (i + 1 < words.size()) setting.value = words[++i];
      line.settings.push_back(setting);
    }
    return line;
  }

  std::string_view text_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0;
};

/// "host:4", also after brackets.
bool has_colon_slots(std::string_view host) {
  const auto colon = host.rfind(':');
  const auto bracket = host.rfind(']');
  if (bracket != std::string_view::npos && colon != std::string_view::npos && bracket > colon)
    return false;
  return colon != std::string_view::npos && colon + 1 < host.size() && !is_ipv6(host) &&
         !is_ipv6(host.substr(host.find('@') + 1));
}

bool is_hydra_key(std::string_view key) {
  return key == "binding" || key == "user";
}

}  // namespace

std::vector<HostfileLine> hostfile_lines(std::string_view text, Diagnostics& diagnostics) {
  return Lexer(text, diagnostics).lines();
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

HostfileForm form_of(const HostfileLine& line) {
  if (!line.settings.empty()) {
    const bool hydra = std::all_of(line.settings.begin(), line.settings.end(),
                                   [](const auto& s) { return is_hydra_key(s.key.text); });
    return hydra ? HostfileForm::colon : HostfileForm::slots;
  }
  if (line.words.size() >= 2 && is_digits(line.words[0].text)) return HostfileForm::columns;
  return has_colon_slots(line.host.text) ? HostfileForm::colon : HostfileForm::names;
}

const char* described(HostfileForm form) {
  switch (form) {
    case HostfileForm::slots:
      return "slots=4, the form of Open MPI and DeepSpeed";
    case HostfileForm::colon:
      return "host:4, the form of MPICH";
    case HostfileForm::columns:
      return "host 4 queue range, the form of Grid Engine";
    case HostfileForm::names:
      break;
  }
  return "names only";
}

}  // namespace dlaunch::jobfile
