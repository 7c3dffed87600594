#include "spec/nearest.h"

#include <algorithm>
#include <cstddef>

namespace dlaunch::spec {

namespace {

// Longer texts are no misspelt keys; this also bounds the work.
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

}  // namespace dlaunch::spec
