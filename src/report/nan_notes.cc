#include "report/nan_notes.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "report/plain_text.h"

namespace dlaunch {

namespace {

constexpr std::size_t kLongestName = 60;
constexpr std::array<std::string_view, 10> kWatched{
    "loss", "perplexity", "ppl", "norm", "acc", "error", "reward", "score", "nll", "metric"};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '/';
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// Where the name of a watched quantity begins whose value stands at `value`; npos: it has none.
std::size_t name_of_value(std::string_view text, std::size_t value) {
  std::size_t end = value;
  while (end > 0 && std::string_view(" \t:='\"-+").find(text[end - 1]) != std::string_view::npos)
    --end;
  constexpr std::string_view kTensor = "tensor(";
  if (text.substr(0, end).ends_with(kTensor)) return name_of_value(text, end - kTensor.size());
  std::size_t begin = end;
  while (begin > 0 && end - begin < kLongestName && is_word(text[begin - 1])) --begin;
  const std::string name = lower(text.substr(begin, end - begin));
  const bool watched =
      end < value && std::any_of(kWatched.begin(), kWatched.end(), [&](std::string_view one) {
        return name.find(one) != std::string::npos;
      });
  return watched ? begin : std::string_view::npos;
}

}  // namespace

std::optional<std::string> printed_nan(std::string_view text) {
  constexpr std::string_view kNan = "nan";
  for (const std::string_view spelled : {std::string_view("nan"), std::string_view("NaN")}) {
    for (std::size_t at = text.rfind(spelled); at != std::string_view::npos;
         at = at == 0 ? std::string_view::npos : text.rfind(spelled, at - 1)) {
      const std::size_t end = at + kNan.size();
      if ((at > 0 && is_word(text[at - 1])) || (end < text.size() && is_word(text[end]))) continue;
      const std::size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0
      const std::size_t name = name_of_value(text.substr(line), at - line);
      if (name != std::string_view::npos)
        return plain_line(text.substr(line + name, end - line - name));
    }
  }
  return std::nullopt;
}

std::vector<std::string> nan_metrics(const std::vector<Metric>& metrics) {
  std::vector<std::string> notes;
  for (const Metric& metric : metrics) {
    const std::string text = lower(metric.not_number);
    const bool is_value = text.ends_with("nan") || text.ends_with("inf");
    if (metric.not_numbers == 0 || metric.ranks.empty() || !is_value) continue;
    notes.push_back(std::to_string(metric.not_numbers) +
                    (metric.not_numbers == 1 ? " value of" : " values of") + " the metric " +
                    plain_line(metric.name) + (metric.not_numbers == 1 ? " is" : " are") +
                    " not a number (\"" + plain_line(metric.not_number) + "\")");
  }
  return notes;
}

}  // namespace dlaunch
