// The form of a line of PMI-1: "cmd=put kvsname=a key=b value=c". Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace dlaunch::pmi {

/// A field ends at a blank that no backslash precedes. Backslashes stay: clients get values back as
/// they were put.
inline std::size_t end_of_field(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size() && line[at] != ' ')
    at += line[at] == '\\' && at + 1 < line.size() ? 2 : 1;
  return std::min(at, line.size());
}

/// The value of the field `name`; empty if there is none.
inline std::string_view value_of(std::string_view line, std::string_view name) {
  while (!line.empty()) {
    const std::size_t end = end_of_field(line);
    const std::string_view one = line.substr(0, end);
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
      return one.substr(name.size() + 1);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return {};
}

}  // namespace dlaunch::pmi
