#include "node/ranks/carried_environment.h"

#include <set>
#include <string_view>

#include <sys/stat.h>

namespace dlaunch {

namespace {

constexpr std::string_view kConda = "CONDA_";
constexpr std::string_view kVirtualEnv = "VIRTUAL_ENV";

/// Builds a list such as PATH without duplicates.
class PathList {
 public:
  void add(const std::string& entry) {
    if (!seen_.insert(entry).second) return;
    if (!empty_) text_ += ':';
    text_ += entry;
    empty_ = false;
  }
  [[nodiscard]] bool empty() const { return empty_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::set<std::string> seen_;
  std::string text_;
  bool empty_ = true;
};

template <class Use>
void each_entry(const std::string& list, const Use& use) {
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(':', start), list.size());
    use(list.substr(start, end - start));
    start = end + 1;
  }
}

void carry_paths(std::string_view name, const Environment& carried, const std::string& workdir,
                 const FolderExists& exists, Environment& env) {
  const auto offered = carried.find(name);
  if (offered == carried.end()) return;
  PathList list;
  each_entry(offered->second, [&](const std::string& entry) {
    const bool absolute = entry.starts_with('/');
    if (exists(absolute ? entry : workdir + '/' + entry)) list.add(entry);
  });
  const auto own = env.find(name);
  if (own != env.end()) each_entry(own->second, [&](const std::string& e) { list.add(e); });
  // If none of its folders exists on this node, an unset variable stays unset.
  if (!list.empty()) env.insert_or_assign(std::string(name), list.text());
}

/// Replaces all variables whose names begin with `prefix`, or none.
void carry_family(std::string_view prefix, std::string_view folder_name, const Environment& carried,
                  const FolderExists& exists, Environment& env) {
  const auto folder = carried.find(folder_name);
  if (folder == carried.end() || !folder->second.starts_with('/') || !exists(folder->second))
    return;
  std::erase_if(env, [&](const auto& one) { return one.first.starts_with(prefix); });
  for (const auto& [name, value] : carried) {
    if (name.starts_with(prefix)) env.insert_or_assign(name, value);
  }
}

}  // namespace

Environment carried_environment(Environment login, const Environment& carried,
                                const std::string& workdir, const FolderExists& exists) {
  for (const std::string_view name : {"PATH", "LD_LIBRARY_PATH"})
    carry_paths(name, carried, workdir, exists, login);
  carry_family(kVirtualEnv, kVirtualEnv, carried, exists, login);
  carry_family(kConda, "CONDA_PREFIX", carried, exists, login);
  return login;
}

bool folder_exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace dlaunch
