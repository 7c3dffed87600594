#include "model/environment.h"

#include "text/strings.h"

namespace dlaunch {

namespace {

bool is_name_char(char c, bool first) {
  return c == '_' || is_letter(c) || (!first && is_digit(c));
}

}  // namespace

Environment environment_from_block(const char* const* block) {
  Environment env;
  for (; block != nullptr && *block != nullptr; ++block) {
    const std::string_view entry(*block);
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    env.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return env;
}

std::optional<std::string> find_variable(const Environment& env, std::string_view name) {
  const auto found = env.find(name);
  if (found == env.end()) return std::nullopt;
  return found->second;
}

bool is_variable_name(std::string_view name) {
  if (name.empty()) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_name_char(name[i], i == 0)) return false;
  }
  return true;
}

bool matches_pattern(std::string_view pattern, std::string_view name) {
  // Greedy with one backtrack point: linear in practice, no recursion.
  std::size_t p = 0, n = 0, star = std::string_view::npos, mark = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*') {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace dlaunch
