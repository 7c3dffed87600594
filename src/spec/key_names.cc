#include "spec/key_names.h"

#include <algorithm>
#include <cstddef>

namespace dlaunch::spec {

namespace {

/// How much of `path` the pattern takes; npos: it does not fit.
std::size_t fit(std::string_view pattern, std::string_view path) {
  std::size_t at = 0;
  for (const char c : pattern) {
    if (c == '*') {
      const std::size_t end = std::min(path.find_first_of(".[", at), path.size());
      if (end == at) return std::string_view::npos;
      at = end;
    } else if (at < path.size() && path[at] == c) {
      ++at;
    } else {
      return std::string_view::npos;
    }
  }
  const bool ends_there = at == path.size() || path[at] == '.' || path[at] == '[';
  return ends_there ? at : std::string_view::npos;
}

}  // namespace

std::string foreign_key(std::span<const KeyName> names, std::string_view path) {
  for (const KeyName& name : names) {
    const std::size_t taken = fit(name.native, path);
    if (taken == std::string_view::npos) continue;
    std::string_view rest = path.substr(taken);
    if (rest.starts_with('[')) rest.remove_prefix(std::min(rest.find(']'), rest.size() - 1) + 1);
    return std::string(name.foreign) + std::string(rest);
  }
  return std::string(path);
}

}  // namespace dlaunch::spec
