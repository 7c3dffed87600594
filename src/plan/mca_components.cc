#include "plan/mca_components.h"

#include <algorithm>
#include <vector>

namespace dlaunch {

namespace {

std::vector<std::string_view> names_in(std::string_view list) {
  if (is_exclusion(list)) list.remove_prefix(1);
  std::vector<std::string_view> names;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (comma != 0) names.push_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return names;
}

bool has(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string components_without(std::string_view wanted, std::string_view excluded) {
  if (!is_exclusion(excluded)) return std::string(excluded);
  const auto out = names_in(excluded);
  std::string list(is_exclusion(wanted) ? excluded : "");
  for (const std::string_view name : names_in(wanted)) {
    if (has(out, name)) continue;
    if (!list.empty() && list != "^") list += ',';
    list += name;
  }
  return list.empty() ? std::string(excluded) : list;
}

}  // namespace dlaunch
