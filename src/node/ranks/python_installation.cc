#include "node/ranks/python_installation.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/ranks/carried_environment.h"
#include "node/ranks/near_name.h"
#include "os/files.h"
#include "os/unique_fd.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

std::string parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), ::free);
  return resolved ? std::string(resolved.get()) : path;
}

/// "3.11" of "python3.11"; empty for another name.
std::string version_in(std::string_view name) {
  constexpr std::string_view kPython = "python";
  if (!name.starts_with(kPython)) return {};
  name.remove_prefix(kPython.size());
  const std::size_t end = std::min(name.find_first_not_of("0123456789."), name.size());
  const std::string_view version = name.substr(0, end);
  return end == name.size() && version.find('.') != std::string_view::npos ? std::string(version)
                                                                           : std::string();
}

/// The version, from the program's name, else from its library folder if there is only one.
std::string version_of(const std::string& program, const std::string& prefix) {
  std::string version = version_in(file_name(program));
  if (!version.empty()) return version;
  for (const std::string& name : names_in(prefix + "/lib")) {
    const std::string found = version_in(name);
    if (found.empty() || !is_regular_file(prefix + "/lib/" + name + "/os.py")) continue;
    if (!version.empty()) return {};
    version = found;
  }
  return version;
}

/// A value from the text of pyvenv.cfg, whose lines are KEY = VALUE.
std::optional<std::string> setting(const std::string& text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const auto trimmed = [](std::string_view part) {
      const std::size_t first = part.find_first_not_of(" \t\r");
      if (first == std::string_view::npos) return std::string_view();
      return part.substr(first, part.find_last_not_of(" \t\r") - first + 1);
    };
    if (trimmed(line.substr(0, equals)) == key)
      return std::string(trimmed(line.substr(equals + 1)));
  }
  return std::nullopt;
}

/// "3.11.4" of "3.11.4.final.0"
std::string three_numbers(const std::string& version) {
  std::size_t end = 0;
  for (int dots = 0; end < version.size(); ++end) {
    if (version[end] == '.' && ++dots == 3) break;
  }
  return version.substr(0, end);
}

void add_folder(std::vector<std::string>& folders, std::string folder) {
  if (folder_exists(folder)) folders.push_back(std::move(folder));
}

void add_packages(const std::string& prefix, const std::string& release,
                  PythonInstallation& python) {
  for (const char* lib : {"/lib", "/lib64"})
    add_folder(python.packages, prefix + lib + "/python" + release + "/site-packages");
  if (prefix != "/usr") return;  // below: Debian's layout
  add_folder(python.packages, "/usr/local/lib/python" + release + "/dist-packages");
  add_folder(python.packages, "/usr/lib/python3/dist-packages");
}

bool ignores(const PythonCommand& command, std::string_view flags) {
  return std::any_of(command.options.begin(), command.options.end(), [&](const std::string& word) {
    return word.starts_with('-') && word.size() > 1 && word[1] != 'W' && word[1] != 'X' &&
           word.find_first_of(flags, 1) != std::string::npos;
  });
}

/// The modules that can be imported from files with these names.
std::vector<std::string> modules_among(const std::vector<std::string>& names) {
  std::vector<std::string> modules;
  for (const std::string& name : names) {
    std::string module = name.ends_with(".py") ? name.substr(0, name.size() - 3) : name;
    if (module.find_first_of(".-") == std::string::npos && !module.starts_with("__"))
      modules.push_back(std::move(module));
  }
  return modules;
}

}  // namespace

std::string beginning_of(const std::string& path, std::size_t most) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string text(most, '\0');
  const ssize_t n = file ? ::read(file.get(), text.data(), text.size()) : -1;
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

PythonInstallation python_at(const std::string& path, const Environment& env) {
  PythonInstallation python;
  python.is_script = beginning_of(path, 2) == "#!";
  python.is_shim = python.is_script && file_name(parent(path)) == "shims";
  if (python.is_script) return python;
  const std::string program = real_path(path);
  const std::string prefix = parent(parent(program));
  python.version = version_of(program, prefix);
  std::string venv = parent(parent(path));
  std::string config = beginning_of(venv + "/pyvenv.cfg", 4096);
  if (config.empty()) venv.clear();
  if (const auto exact = setting(config, "version"); exact && !exact->empty())
    python.version = three_numbers(*exact);
  if (const auto exact = setting(config, "version_info"); exact && !exact->empty())
    python.version = three_numbers(*exact);
  const std::string release = python_release(python.version);
  if (release.empty()) return python;
  add_folder(python.standard, prefix + "/lib/python" + release);
  add_folder(python.standard, prefix + "/lib/python" + release + "/lib-dynload");
  if (!venv.empty()) add_packages(venv, release, python);
  if (!venv.empty() && setting(config, "include-system-site-packages") != "true") return python;
  add_packages(prefix, release, python);
  const std::string home = find_variable(env, "HOME").value_or("");
  const std::string user = find_variable(env, "PYTHONUSERBASE").value_or(home + "/.local");
  if (user.starts_with('/'))
    add_folder(python.packages, user + "/lib/python" + release + "/site-packages");
  return python;
}

std::vector<std::string> module_folders(const PythonInstallation& python,
                                        const PythonCommand& command, const std::string& workdir,
                                        const Environment& env) {
  std::vector<std::string> folders;
  const bool is_safe =
      ignores(command, "IP") || !find_variable(env, "PYTHONSAFEPATH").value_or("").empty();
  if (!is_safe)
    folders.push_back(command.script.empty() ? workdir
                                             : parent(path_from(workdir, command.script)));
  std::string more = ignores(command, "IE") ? "" : find_variable(env, "PYTHONPATH").value_or("");
  while (!more.empty()) {
    const std::size_t end = std::min(more.find(':'), more.size());
    if (end > 0) folders.push_back(path_from(workdir, more.substr(0, end)));
    more.erase(0, end + 1);
  }
  folders.insert(folders.end(), python.standard.begin(), python.standard.end());
  folders.insert(folders.end(), python.packages.begin(), python.packages.end());
  return folders;
}

bool has_module(std::string_view name, const std::vector<std::string>& folders) {
  if (name.find('/') != std::string_view::npos) return false;
  std::string path(name);
  std::replace(path.begin(), path.end(), '.', '/');
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    return is_regular_file(folder + '/' + path + ".py") || is_regular_file(folder + '/' + path + "/__main__.py");
  });
}

std::string near_module(const std::string& name, const std::vector<std::string>& folders) {
  // For `python -m train.py` and `python -m ./trainer/task.py`.
  std::string dotted = name.substr(name.starts_with("./") ? 2 : 0);
  if (dotted.ends_with(".py")) dotted.erase(dotted.size() - 3);
  std::replace(dotted.begin(), dotted.end(), '/', '.');
  if (dotted != name && has_module(dotted, folders)) return dotted;
  std::vector<std::string> here = folders;
  std::string before;
  std::string rest = name;
  while (!rest.empty()) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const std::string part = rest.substr(0, dot);
    rest.erase(0, dot + 1);
    std::vector<std::string> names;
    std::vector<std::string> inner;
    for (const std::string& folder : here) {
      const std::vector<std::string> found = modules_among(names_in(folder));
      names.insert(names.end(), found.begin(), found.end());
      add_folder(inner, folder + '/' + part);
    }
    if (std::find(names.begin(), names.end(), part) == names.end()) {
      const std::string near = nearest_of(part, names);
      return near.empty() ? "" : before + near + (rest.empty() ? "" : '.' + rest);
    }
    before += part + '.';
    here = std::move(inner);
  }
  return {};
}

}  // namespace dlaunch
