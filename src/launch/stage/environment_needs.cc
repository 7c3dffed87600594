#include "launch/stage/environment_needs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "os/unique_fd.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

namespace fs = std::filesystem;
using Kind = SyncEntry::Kind;

constexpr std::size_t kMostNeeds = 64;
constexpr std::size_t kMostAdvised = 4;

bool is_there(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

/// Files that tell where a package is are short.
std::string beginning_of(const std::string& path) {
  std::string text(std::size_t{64} << 10, '\0');
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const ssize_t n = file ? ::read(file.get(), text.data(), text.size()) : -1;
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

int hex_digit(char c) {
  const std::size_t at = std::string_view("0123456789abcdef").find(lower({&c, 1}));
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

/// The path in a file: URL (RFC 8089); empty if it is another one.
std::string path_of(std::string_view url) {
  constexpr std::string_view kScheme = "file://";
  if (!url.starts_with(kScheme)) return {};
  url.remove_prefix(kScheme.size());
  std::string path;
  for (std::size_t i = 0; i < url.size(); ++i) {
    const int high = url[i] == '%' && i + 2 < url.size() ? hex_digit(url[i + 1]) : -1;
    const int low = high < 0 ? -1 : hex_digit(url[i + 2]);
    path += low < 0 ? url[i] : static_cast<char>(high * 16 + low);
    if (low >= 0) i += 2;
  }
  return path.starts_with('/') ? path : std::string();
}

/// The folder of an editable package, from its direct_url.json.
std::string editable_folder(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  const auto info = json.find("dir_info");
  if (info == json.end() || !info->is_object() || info->find("editable") == info->end()) return {};
  const auto url = json.find("url");
  return (*info)["editable"] == true && url != json.end() && url->is_string()
             ? path_of(url->get<std::string>())
             : std::string();
}

bool is_named(std::string_view path, std::string_view name) {
  return path.ends_with(name) &&
         (path.size() == name.size() || path[path.size() - name.size() - 1] == '/');
}

bool names_folders(const std::string& path) {
  return path.ends_with(".pth") || is_named(path, "direct_url.json");
}

/// Folders that a file of an environment takes packages from.
std::vector<std::string> folders_named_in(const std::string& path) {
  std::vector<std::string> folders;
  const std::string text = beginning_of(path);
  if (!path.ends_with(".pth")) {
    folders.push_back(editable_folder(text));
  } else {
    for (std::string_view rest = text; !rest.empty();)
      folders.emplace_back(trimmed(take_line(rest)));
  }
  std::erase_if(folders, [](const auto& folder) { return !folder.starts_with('/'); });
  return folders;
}

class Search {
 public:
  explicit Search(const StagedEntries& staged) : staged_(staged) {}

  StagedEnvironments run() {
    for (std::uint32_t i = 0; i < staged_.entries.size(); ++i) {
      const SyncEntry& entry = staged_.entries[i].entry;
      const bool is_venv = is_named(entry.path, "pyvenv.cfg") && entry.kind == Kind::file;
      const bool is_conda = is_named(entry.path, "conda-meta") && entry.kind == Kind::folder;
      if (is_venv || is_conda) add_environment(i);
    }
    if (environments_.empty()) return {};
    for (std::uint32_t i = 0; i < staged_.entries.size(); ++i) look_at(i);
    return std::move(found_);
  }

 private:
  /// On the nodes.
  [[nodiscard]] fs::path place_of(std::uint32_t entry) const {
    const StageEntry& at = staged_.entries[entry];
    return fs::path(staged_.roots[at.root]) / at.entry.path;
  }

  /// Of the entry that marks it.
  void add_environment(std::uint32_t entry) {
    const std::string folder = place_of(entry).parent_path();
    if (!environments_.insert(folder).second) return;
    const fs::path here = staged_.source(entry);
    if (here.parent_path().lexically_normal() != folder) found_.moved.push_back(folder);
  }

  [[nodiscard]] std::string environment_of(const fs::path& place) const {
    for (fs::path folder = place.parent_path(); folder.has_relative_path();
         folder = folder.parent_path()) {
      if (environments_.contains(folder)) return folder;
    }
    return {};
  }

  /// Of some 10,000 files, few are worth a closer look.
  void look_at(std::uint32_t entry) {
    const SyncEntry& file = staged_.entries[entry].entry;
    const bool is_link = file.kind == Kind::link;
    if (!is_link && (file.kind != Kind::file || !names_folders(file.path))) return;
    const fs::path place = place_of(entry);
    const std::string environment = environment_of(place);
    if (environment.empty()) return;
    const std::string here = staged_.source(entry);
    if (is_link && is_there(here)) need(place.parent_path() / file.target, environment);
    if (is_link) return;
    for (const std::string& folder : folders_named_in(here)) {
      if (is_there(folder)) need(folder, environment);
    }
  }

  void need(const fs::path& path, const std::string& environment) {
    std::string text = path.lexically_normal();
    while (text.size() > 1 && text.ends_with('/')) text.pop_back();
    const bool is_staged =
        std::any_of(staged_.targets.begin(), staged_.targets.end(), [&](const std::string& target) {
          return text == target || (text.starts_with(target) && text[target.size()] == '/');
        });
    if (is_staged || found_.needs.size() == kMostNeeds || !known_.insert(text).second) return;
    found_.needs.push_back({std::move(text), environment});
  }

  const StagedEntries& staged_;
  std::set<std::string> environments_;
  std::set<std::string> known_;
  StagedEnvironments found_;
};

/// The folder to copy where this is needed; empty: the system's own.
std::string folder_to_stage(const std::string& path) {
  const fs::path file = path;
  if (file.parent_path().filename() != "bin") return path;
  std::string prefix = file.parent_path().parent_path();
  return prefix == "/" || prefix == "/usr" || prefix == "/usr/local" ? std::string() : prefix;
}

}  // namespace

StagedEnvironments staged_environments(const StagedEntries& staged) {
  return Search(staged).run();
}

std::vector<std::string> advice_on(const std::vector<StagedEnvironments::Need>& needs) {
  std::vector<std::string> lines;
  for (const auto& need : needs) {
    const std::string folder = plain_line(folder_to_stage(need.path));
    std::string line = folder.empty()
                           ? "install " + plain_line(fs::path(need.path).filename().string()) +
                                 " on these nodes, or make the environment with a Python "
                                 "that can be staged (uv, conda)"
                           : "stage it too, to the same path: {from: " + folder + '}';
    if (std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(std::move(line));
    if (lines.size() == kMostAdvised) break;
  }
  return lines;
}

}  // namespace dlaunch
