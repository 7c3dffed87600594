#include "jobfile/suggestion.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "jobfile/field_table.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

// Longer texts are not misspelt keys. The limit also bounds the work.
constexpr std::size_t kMaxLength = 64;

char folded(char c) {
  if (c == '-') return '_';
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Optimal string alignment distance, three rows at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = folded(a[i - 1]) == folded(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool exchanged = i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
                             folded(a[i - 2]) == folded(b[j - 1]);
      if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view text,
                                        const std::vector<std::string_view>& candidates) {
  if (text.empty() || text.size() > kMaxLength) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = std::max<std::size_t>(1, text.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t d = distance(text, candidate);
    if (d >= best_distance || d >= candidate.size()) continue;
    best = candidate;
    best_distance = d;
  }
  return best;
}

std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& candidates) {
  const auto near = nearest(text, candidates);
  return near ? ", did you mean \"" + std::string(*near) + "\"?" : std::string();
}

namespace {

std::string did_you_mean(const std::vector<std::string_view>& names) {
  std::string text = ", did you mean ";
  for (std::size_t i = 0; i < names.size(); ++i)
    text.append(i == 0 ? "\"" : " or \"").append(names[i]).append("\"");
  return text + '?';
}

bool holds_word(std::string_view words, std::string_view wanted) {
  while (!words.empty()) {
    const auto space = words.find(' ');
    if (words.substr(0, space) == wanted) return true;
    words = space == std::string_view::npos ? std::string_view() : words.substr(space + 1);
  }
  return false;
}

std::string normalized(std::string_view key) {
  std::string out = lower(key);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

bool is_in_list(std::string_view key) {
  return key.find_first_of("[*") != std::string_view::npos;
}

std::string_view last_part(std::string_view key) {
  const auto dot = key.rfind('.');
  return dot == std::string_view::npos ? key : key.substr(dot + 1);
}

// The keys of the same name in other sections.
std::vector<std::string_view> same_name_elsewhere(std::string_view key) {
  std::vector<std::string_view> found;
  for (const Field& field : fields()) {
    if (is_in_list(field.key) || last_part(field.key) != key) continue;
    found.push_back(field.key);
  }
  return found;
}

std::vector<std::string_view> called_so_elsewhere(std::string_view key) {
  for (const Field& field : fields()) {
    if (!is_in_list(field.key) && holds_word(field.also, key)) return {field.key};
  }
  return {};
}

bool is_sibling(const std::vector<std::string_view>& siblings, std::string_view prefix,
                std::string_view key) {
  return key.starts_with(prefix) && contains(siblings, key.substr(prefix.size()));
}

std::string nested(std::string_view key) {
  const auto dot = key.find('.');
  return std::string(key.substr(0, dot)) + ": {" + std::string(key.substr(dot + 1)) + ": ...}";
}

}  // namespace

std::string advice_for_unknown_key(std::string_view prefix, std::string_view key) {
  const std::vector<std::string_view> siblings = names_under(prefix);
  // "name = x" in the style of other formats: yaml-cpp takes the whole line for a key.
  const std::string_view before_equals = key.substr(0, key.find_first_of("= "));
  const bool is_assignment =
      key.find('=') != std::string_view::npos && contains(siblings, before_equals);
  if (is_assignment) return "; write \"" + std::string(before_equals) + ": ...\", with a colon";
  if (const auto near = nearest(key, siblings)) return did_you_mean({*near});
  const std::string name = normalized(key);
  const auto called_so = called_so_elsewhere(name);
  // At the top level, "run" is what other launchers call the command, not timeouts.run.
  if (!called_so.empty() && is_sibling(siblings, prefix, called_so.front()))
    return did_you_mean(called_so);
  auto elsewhere = same_name_elsewhere(name);
  if (elsewhere.empty()) elsewhere = called_so;
  // The name is right, but the section is wrong.
  const bool is_at_the_top = elsewhere == std::vector<std::string_view>{name};
  if (is_at_the_top && !prefix.empty())
    return "; it is a key of the whole job, known here: " + joined(siblings);
  if (!elsewhere.empty()) return did_you_mean(elsewhere);
  if (prefix.empty() && find_field(key) != nullptr) return "; write it nested: " + nested(key);
  if (!prefix.empty() && !siblings.empty()) return "; known here: " + joined(siblings);
  return "";
}

}  // namespace dlaunch::jobfile
