#include "model/mount.h"

#include <algorithm>
#include <vector>

namespace dlaunch {

namespace {

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto colon = std::min(text.find(':'), text.size());
    parts.push_back(text.substr(0, colon));
    if (colon == text.size()) return parts;
    text.remove_prefix(colon + 1);
  }
}

bool is_mode(std::string_view word) {
  return word == "ro" || word == "rw";
}

std::string quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}

/// "/a/" -> "/a"
std::string without_slash(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

}  // namespace

std::string problem_of_mount(std::string_view text) {
  if (std::any_of(text.begin(), text.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return "control characters cannot be part of a path";
  const auto parts = parts_of(text);
  const std::string form = "expected HOST[:CONTAINER][:ro], such as /data:/data:ro";
  if (parts[0].empty()) return form + "; the part before the first ':' is missing";
  if (parts.size() > 3) return form + "; it has " + std::to_string(parts.size() - 1) + " colons";
  if (parts.size() == 3 && !is_mode(parts[2]))
    return form + "; " + quoted(parts[2]) + " is neither ro nor rw";
  const bool has_target = parts.size() == 3 || (parts.size() == 2 && !is_mode(parts[1]));
  if (has_target && !parts[1].starts_with('/'))
    return "the path in the container must be absolute, not " + quoted(parts[1]);
  if (!has_target && !parts[0].starts_with('/'))
    return quoted(parts[0]) +
           " is not an absolute path, so give its path in the container: HOST:CONTAINER";
  return "";
}

Mount mount_of(std::string_view text) {
  const auto parts = parts_of(text);
  const bool has_mode = parts.size() > 1 && is_mode(parts.back());
  const bool has_target = parts.size() == (has_mode ? 3U : 2U);
  Mount mount;
  mount.host = without_slash(parts[0]);
  mount.target = has_target ? without_slash(parts[1]) : mount.host;
  mount.read_only = has_mode && parts.back() == "ro";
  return mount;
}

std::string problem_of_container_workdir(std::string_view text) {
  const bool has_control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (has_control) return "control characters cannot be part of a path";
  if (text == kImagesOwn || text.starts_with('/')) return "";
  return "expected an absolute path in the image, or \"image\" for the image's own WORKDIR";
}

}  // namespace dlaunch
