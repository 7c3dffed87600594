#include "model/rank_list.h"

#include <optional>
#include <set>
#include <string_view>

#include "text/number.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

struct RangeStyle {
  std::string_view separator;
  std::size_t shortest;  // the least number of ranks written as a range
  std::size_t max_chars;
};

template <class ValueAt>
std::string ranges(std::size_t count, const ValueAt& value, const RangeStyle& style) {
  std::string out;
  for (std::size_t begin = 0; begin < count;) {
    std::size_t end = begin + 1;
    while (end < count && value(end) == value(end - 1) + 1) ++end;
    if (end - begin < style.shortest) end = begin + 1;
    std::string part = std::to_string(value(begin));
    if (end - begin > 1) part += '-' + std::to_string(value(end - 1));
    if (!out.empty() && out.size() + part.size() > style.max_chars) {
      return out + " and " + std::to_string(count - begin) + " more";
    }
    if (!out.empty()) out += style.separator;
    out += part;
    begin = end;
  }
  return out;
}

}  // namespace

std::string rank_ranges(const std::vector<Rank>& ranks, std::size_t max_chars) {
  const auto value = [&](std::size_t i) { return ranks[i].value; };
  // "6, 7" is clearer than "6-7".
  return ranges(ranks.size(), value, {", ", 3, max_chars});
}

std::string compact_ranges(std::span<const std::uint32_t> numbers, std::size_t max_chars) {
  const auto value = [&](std::size_t i) { return numbers[i]; };
  return ranges(numbers.size(), value, {",", 2, max_chars});
}

Result<std::vector<std::uint32_t>> parse_ranks(const std::string& text, std::uint32_t ranks) {
  std::set<std::uint32_t> chosen;
  std::string_view rest(text);
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
    const std::size_t dash = part.find('-');
    const auto first = number_of<std::uint32_t>(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : number_of<std::uint32_t>(part.substr(dash + 1));
    if (!first || !last || *first > *last) {
      return fail(exit_code::kUsage,
                  "--rank " + plain_line(text) + ": expected ranks, for example 3 or 0,2-5");
    }
    if (*last >= ranks) {
      return fail(exit_code::kUsage,
                  "there is no rank " + std::to_string(*last) + ": the run has " +
                      (ranks == 1 ? "rank 0 only" : "ranks 0 to " + std::to_string(ranks - 1)));
    }
    for (std::uint32_t rank = *first; rank <= *last; ++rank) chosen.insert(rank);
  }
  return std::vector<std::uint32_t>(chosen.begin(), chosen.end());
}

}  // namespace dlaunch
