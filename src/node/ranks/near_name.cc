#include "node/ranks/near_name.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <sys/stat.h>

#include "jobfile/suggestion.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostNames = 10'000;

}  // namespace

std::string path_from(const std::string& folder, const std::string& path) {
  return path.starts_with('/') ? path : folder + '/' + path;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(folder.c_str()), ::closedir);
  while (opened && names.size() < kMostNames) {
    const dirent* entry = ::readdir(opened.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string nearest_of(const std::string& name, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto found = jobfile::nearest(name, views);
  return found ? std::string(*found) : std::string();
}

std::string near_file(const std::string& path, const std::string& folder) {
  std::string before = path.starts_with('/') ? "/" : "";
  std::string rest = path.substr(before.size());
  while (!rest.empty()) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string part = rest.substr(0, slash);
    rest.erase(0, slash + 1);
    const std::string here = path_from(folder, before);
    struct stat info {};
    if (::stat((here + '/' + part).c_str(), &info) != 0) {
      const std::string near = nearest_of(part, names_in(here));
      if (near.empty()) return {};
      const std::string whole = before + near + (rest.empty() ? "" : '/' + rest);
      return rest.empty() || ::stat(path_from(folder, whole).c_str(), &info) == 0 ? whole : "";
    }
    before += part + (rest.empty() ? "" : "/");
  }
  return {};
}

}  // namespace dlaunch
