#include "report/rank_list.h"

namespace dlaunch {

std::string rank_ranges(const std::vector<Rank>& ranks, std::size_t max_chars) {
  std::string out;
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin + 1;
    while (end < ranks.size() && ranks[end].value == ranks[end - 1].value + 1) ++end;
    if (end - begin == 2) end = begin + 1;  // "6, 7" says it better than "6-7"
    std::string part = std::to_string(ranks[begin].value);
    if (end - begin > 1) part += '-' + std::to_string(ranks[end - 1].value);
    if (!out.empty() && out.size() + part.size() > max_chars) {
      return out + " and " + std::to_string(ranks.size() - begin) + " more";
    }
    if (!out.empty()) out += ", ";
    out += part;
    begin = end;
  }
  return out;
}

}  // namespace dlaunch
