#include "sync/gitignore.h"

#include <algorithm>
#include <array>
#include <utility>

namespace dlaunch::sync {

namespace {

constexpr std::string_view kSpecial = "*?[\\";
constexpr std::size_t kLongestPattern = 4096;  // PATH_MAX
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Trailing spaces do not count unless a backslash precedes them. Tabs do.
std::string_view without_trailing_spaces(std::string_view line) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == ' ') {
      continue;
    }
    end = std::min(i + 1, line.size());
  }
  return line.substr(0, end);
}

using ByteSet = std::bitset<256>;

void add_range(ByteSet& set, unsigned char first, unsigned char last) {
  for (unsigned c = first; c <= last; ++c) set.set(c);
}

/// A character class such as "alpha" in the POSIX locale. False: unknown.
bool add_class(ByteSet& set, std::string_view name) {
  struct Class {
    std::string_view name;
    std::array<std::pair<char, char>, 4> ranges;
    std::size_t count;
  };
  constexpr std::array<Class, 12> kClasses = {{
      {"alnum", {{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}}, 3},
      {"alpha", {{{'A', 'Z'}, {'a', 'z'}}}, 2},
      {"blank", {{{' ', ' '}, {'\t', '\t'}}}, 2},
      {"cntrl", {{{'\0', '\x1f'}, {'\x7f', '\x7f'}}}, 2},
      {"digit", {{{'0', '9'}}}, 1},
      {"graph", {{{'!', '~'}}}, 1},
      {"lower", {{{'a', 'z'}}}, 1},
      {"print", {{{' ', '~'}}}, 1},
      {"punct", {{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}}, 4},
      {"space", {{{' ', ' '}, {'\t', '\r'}}}, 2},
      {"upper", {{{'A', 'Z'}}}, 1},
      {"xdigit", {{{'0', '9'}, {'A', 'F'}, {'a', 'f'}}}, 3},
  }};
  for (const Class& known : kClasses) {
    if (known.name != name) continue;
    for (std::size_t i = 0; i < known.count; ++i)
      add_range(set, static_cast<unsigned char>(known.ranges[i].first),
                static_cast<unsigned char>(known.ranges[i].second));
    return true;
  }
  return false;
}

}  // namespace

std::optional<IgnorePattern> IgnorePattern::parse(std::string_view line) {
  if (line.starts_with('#') || line.size() > kLongestPattern) return std::nullopt;
  line = without_trailing_spaces(line);
  IgnorePattern pattern;
  if (line.starts_with('!')) {
    pattern.negated_ = true;
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    pattern.folders_only_ = true;
    line.remove_suffix(1);
  }
  pattern.whole_path_ = line.find('/') != std::string_view::npos;
  if (line.starts_with('/')) line.remove_prefix(1);
  if (line.empty()) return std::nullopt;
  pattern.plain_prefix_ = std::min(line.find_first_of(kSpecial), line.size());
  pattern.is_literal_ = pattern.plain_prefix_ == line.size();
  if (pattern.is_literal_) {
    pattern.literal_ = line;
  } else if (!pattern.compile(line)) {
    return std::nullopt;
  }
  return pattern;
}

bool IgnorePattern::compile(std::string_view pattern) {
  for (std::size_t i = 0; i < pattern.size();) {
    const char c = pattern[i];
    if (c == '*') {
      i = compile_stars(pattern, i);
    } else if (c == '?') {
      tokens_.push_back({Token::Kind::any});
      ++i;
    } else if (c == '[') {
      const auto end = compile_set(pattern, i);
      if (!end) return false;
      i = *end;
    } else {
      if (c == '\\' && ++i == pattern.size()) return false;
      tokens_.push_back({Token::Kind::byte, static_cast<std::uint8_t>(pattern[i])});
      ++i;
    }
  }
  return true;
}

/// Returns the position after the stars. "**" differs from "*" only between slashes; the end of
/// the plain prefix counts as one, because git compares that prefix separately.
std::size_t IgnorePattern::compile_stars(std::string_view pattern, std::size_t at) {
  const std::size_t end = std::min(pattern.find_first_not_of('*', at), pattern.size());
  const bool begins = at == 0 || at == plain_prefix_ || pattern[at - 1] == '/';
  const bool ends = end == pattern.size() || pattern[end] == '/';
  if (end - at < 2 || !begins || !ends || !whole_path_) {
    tokens_.push_back({Token::Kind::star});
    return end;
  }
  if (end == pattern.size()) {
    tokens_.push_back({Token::Kind::star_all});
    return end;
  }
  // "**/": nothing, or anything up to a slash.
  tokens_.push_back({Token::Kind::skip, 2});
  tokens_.push_back({Token::Kind::star_all});
  tokens_.push_back({Token::Kind::byte, '/'});
  return end + 1;
}

/// Returns the position after "[...]"; nullopt: it has no end, or an unknown class.
std::optional<std::size_t> IgnorePattern::compile_set(std::string_view pattern, std::size_t at) {
  ByteSet set;
  std::size_t i = at + 1;
  const bool inverted = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (inverted) ++i;
  std::optional<unsigned char> previous;  // that a range may begin with
  for (bool first = true;; first = false, ++i) {
    if (i >= pattern.size()) return std::nullopt;
    if (pattern[i] == ']' && !first) break;
    if (pattern.substr(i).starts_with("[:")) {
      const std::size_t close = pattern.find(']', i + 2);
      if (close == std::string_view::npos) return std::nullopt;
      if (close > i + 2 && pattern[close - 1] == ':') {
        if (!add_class(set, pattern.substr(i + 2, close - i - 3))) return std::nullopt;
        previous.reset();
        i = close;
        continue;
      }
    }
    const bool is_range =
        pattern[i] == '-' && previous && i + 1 < pattern.size() && pattern[i + 1] != ']';
    if (is_range) ++i;
    if (pattern[i] == '\\' && ++i == pattern.size()) return std::nullopt;
    const auto c = static_cast<unsigned char>(pattern[i]);
    is_range ? add_range(set, *previous, c) : static_cast<void>(set.set(c));
    previous = is_range ? std::nullopt : std::optional(c);
  }
  if (inverted) set.flip();
  set.reset('/');
  tokens_.push_back({Token::Kind::set, 0, static_cast<std::uint16_t>(sets_.size())});
  sets_.push_back(set);
  return i + 1;
}

bool IgnorePattern::takes(const Token& token, char c) const {
  switch (token.kind) {
    case Token::Kind::byte:
      return static_cast<char>(token.value) == c;
    case Token::Kind::any:
    case Token::Kind::star:
      return c != '/';
    case Token::Kind::set:
      return sets_[token.set].test(static_cast<unsigned char>(c));
    case Token::Kind::star_all:
      return true;
    case Token::Kind::skip:
      break;
  }
  return false;
}

/// Marks a state and all states that are reachable from it without consuming a byte. State n: the
/// first n tokens matched.
void IgnorePattern::enter(std::string& states, std::size_t state) const {
  for (; states[state] == 0; ++state) {
    states[state] = 1;
    if (state == tokens_.size()) return;
    const Token& token = tokens_[state];
    const bool may_be_nothing = token.kind == Token::Kind::star ||
                                token.kind == Token::Kind::star_all ||
                                token.kind == Token::Kind::skip;
    if (!may_be_nothing) return;
    if (token.kind == Token::Kind::skip) enter(states, state + 1 + token.value);
  }
}

/// Follows all alternatives at once, so "*a*a*a*b" costs no more than any other pattern.
bool IgnorePattern::accepts(std::string_view text) const {
  std::string states(tokens_.size() + 1, '\0');
  enter(states, 0);
  for (const char c : text) {
    std::string next(states.size(), '\0');
    bool alive = false;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (states[i] == 0 || !takes(tokens_[i], c)) continue;
      const bool stays =
          tokens_[i].kind == Token::Kind::star || tokens_[i].kind == Token::Kind::star_all;
      enter(next, stays ? i : i + 1);
      alive = true;
    }
    if (!alive) return false;
    states.swap(next);
  }
  return states.back() != 0;
}

bool IgnorePattern::matches(std::string_view path, bool is_folder) const {
  if (folders_only_ && !is_folder) return false;
  if (!whole_path_) path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  return is_literal_ ? path == literal_ : accepts(path);
}

void IgnoreRules::enter(std::string base, std::string_view text) {
  File file{std::move(base), {}};
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (auto pattern = IgnorePattern::parse(line)) file.patterns.push_back(std::move(*pattern));
  }
  files_.push_back(std::move(file));
}

bool IgnoreRules::excludes(std::string_view path, bool is_folder) const {
  for (std::size_t i = files_.size(); i-- > 0;) {
    const auto& [base, patterns] = files_[i];
    const std::string_view below = path.substr(std::min(base.size(), path.size()));
    for (std::size_t k = patterns.size(); k-- > 0;) {
      if (patterns[k].matches(below, is_folder)) return !patterns[k].negated();
    }
  }
  return false;
}

}  // namespace dlaunch::sync
