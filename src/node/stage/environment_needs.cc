#include "node/stage/environment_needs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include "node/ranks/python_installation.h"
#include "sync/rules.h"
#include "text/json_text.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

namespace fs = std::filesystem;
using Kind = SyncEntry::Kind;

constexpr std::size_t kMostText = std::size_t{64} << 10;  // bytes read of a file that names folders
constexpr std::size_t kMostNeeds = 64;
constexpr std::size_t kMostAdvised = 4;
constexpr std::array kSystem = {"/usr/", "/lib", "/bin/", "/sbin/", "/etc/"};

bool is_there(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

int hex_digit(char c) {
  const std::size_t at = std::string_view("0123456789abcdef").find(lower({&c, 1}));
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

/// The path in a file: URL (RFC 8089); empty for any other URL.
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

/// Python reads .pth files only in these folders; elsewhere they may be anything, such as weights.
bool names_folders(const fs::path& path) {
  if (path.filename() == "direct_url.json" || path.filename() == "pyvenv.cfg") return true;
  const fs::path folder = path.parent_path().filename();
  return path.extension() == ".pth" && (folder == "site-packages" || folder == "dist-packages");
}

/// The base of an environment that has a copy of Python (venv --copies), from its pyvenv.cfg.
std::string base_of_copy(const fs::path& config) {
  struct stat info {};
  const std::string python = config.parent_path() / "bin" / "python";
  if (::lstat(python.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const std::string text = beginning_of(config, kMostText);
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = take_line(rest);
    const std::size_t equal = line.find('=');
    if (equal != std::string_view::npos && trimmed(line.substr(0, equal)) == "home")
      return std::string(trimmed(line.substr(equal + 1)));
  }
  return {};
}

/// Folders from which an environment takes its Python or packages, as one of its files says.
std::vector<std::string> folders_named_in(const std::string& path) {
  std::vector<std::string> folders;
  const std::string text = beginning_of(path, kMostText);
  if (path.ends_with("/pyvenv.cfg")) {
    folders.push_back(base_of_copy(path));
  } else if (!path.ends_with(".pth")) {
    folders.push_back(editable_folder(text));
  } else {
    for (std::string_view rest = text; !rest.empty();)
      folders.emplace_back(trimmed(take_line(rest)));
  }
  std::erase_if(folders, [](const auto& folder) { return !folder.starts_with('/'); });
  return folders;
}

bool lies_in_any(const std::string& path, const std::vector<std::string>& folders) {
  return std::any_of(folders.begin(), folders.end(),
                     [&](const std::string& folder) { return sync::lies_in(path, folder); });
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
    for (std::uint32_t i = 0; i < staged_.entries.size() && !is_full(); ++i) look_at(i);
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is_full() const { return found_.needs.size() == kMostNeeds; }

  /// The path of the entry on the nodes.
  [[nodiscard]] fs::path place_of(std::uint32_t entry) const {
    const StageEntry& at = staged_.entries[entry];
    return fs::path(staged_.roots[at.root]) / at.entry.path;
  }

  /// `entry`: the file or folder that makes the folder around it an environment.
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

  /// Must be cheap, because there may be tens of thousands of files: only links and a few names
  /// matter.
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
    const bool is_staged = lies_in_any(text, staged_.targets) || lies_in_any(text, staged_.sources);
    const bool is_text = text.find('\0') == std::string::npos;
    if (is_staged || !is_text || is_full() || !known_.insert(text).second) return;
    found_.needs.push_back({std::move(text), environment});
  }

  const StagedEntries& staged_;
  std::set<std::string> environments_;
  std::set<std::string> known_;
  StagedEnvironments found_;
};

bool is_of_system(const std::string& path) {
  return std::any_of(kSystem.begin(), kSystem.end(),
                     [&](const char* folder) { return path.starts_with(folder); });
}

/// The folder that contains the Python at `path` and its library, if it can be copied; else empty.
std::string python_folder(const fs::path& path) {
  std::error_code error;
  const fs::path bin = path.filename() == "bin" ? path : path.parent_path();
  const fs::path prefix = bin.parent_path();
  if (bin.filename() != "bin") return {};
  for (const auto& library : fs::directory_iterator(prefix / "lib", error)) {
    if (fs::exists(library.path() / "os.py", error)) return prefix;
  }
  return {};
}

/// The text, quoted if YAML needs it within [] or {}.
std::string yaml_text(const std::string& text) {
  if (text.find_first_of(" ,:{}[]#'\"&*!|>%@`\\") == std::string::npos) return text;
  std::string quoted;
  append_json_string(quoted, text);
  return quoted;
}

std::string advice_on(const std::string& path) {
  const std::string name = fs::path(path).filename();
  const std::string folder = python_folder(path);
  if (!folder.empty() && !is_of_system(path))
    return "stage it too, to the same path: {from: " + yaml_text(folder) + '}';
  if (!folder.empty() ||
      (name.starts_with("python") && fs::path(path).parent_path().filename() == "bin"))
    return "install " + plain_line(name == "bin" ? "that Python" : name) +
           " on these nodes, or make the environment with a Python that can be staged (uv, conda)";
  if (is_of_system(path))
    return "install the package that contains " + plain_line(path) + " on these nodes";
  return "stage it too, to the same path: {from: " + yaml_text(path) + '}';
}

}  // namespace

StagedEnvironments staged_environments(const StagedEntries& staged) {
  return Search(staged).run();
}

std::vector<std::string> advice_on(const std::vector<StagedEnvironments::Need>& needs) {
  std::vector<std::string> lines;
  for (const auto& need : needs) {
    std::string line = advice_on(need.path);
    if (std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(std::move(line));
    if (lines.size() == kMostAdvised) break;
  }
  return lines;
}

}  // namespace dlaunch
