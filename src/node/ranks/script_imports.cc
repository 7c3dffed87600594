#include "node/ranks/script_imports.h"

#include <algorithm>
#include <optional>
#include <set>

#include "node/ranks/near_name.h"
#include "node/ranks/python_installation.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostText = std::size_t{256} << 10U;

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c == '_' || c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  });
}

std::string_view first_component(std::string_view text) {
  const std::size_t start = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(start);
  return text.substr(0, text.find_first_of(" \t.,;#\r"));
}

template <class Use>
void each_line(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Names of modules, packages and extensions that Python could import from a folder.
void add_modules(const std::string& folder, std::set<std::string, std::less<>>& modules) {
  for (const std::string& name : names_in(folder)) modules.insert(name.substr(0, name.find('.')));
}

/// Folders that .pth files add, by the rules of site.py. nullopt: a file runs code with
/// unknown effect.
std::optional<std::vector<std::string>> path_files(const std::string& folder) {
  std::vector<std::string> folders;
  bool is_known = true;
  for (const std::string& name : names_in(folder)) {
    if (!name.ends_with(".pth")) continue;
    // These files are from setuptools and virtualenv; -nspkg.pth names namespace packages, whose
    // folders are listed anyway.
    if (name == "distutils-precedence.pth" || name == "_virtualenv.pth" ||
        name.ends_with("-nspkg.pth"))
      continue;
    each_line(beginning_of(folder + '/' + name, kMostText), [&](std::string_view line) {
      if (line.starts_with("import ") || line.starts_with("import\t")) {
        is_known = false;
      } else if (!line.empty() && line.front() != '#') {
        folders.push_back(path_from(folder, std::string(line.substr(0, line.find('\r')))));
      }
    });
  }
  return is_known ? std::optional(folders) : std::nullopt;
}

}  // namespace

std::vector<std::string> imports_in(std::string_view program) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (is_name(name) && std::find(names.begin(), names.end(), name) == names.end())
      names.emplace_back(name);
  };
  each_line(program, [&](std::string_view line) {
    if (line.starts_with("from ")) return add(first_component(line.substr(5)));
    if (!line.starts_with("import ")) return;
    line = line.substr(7, line.find_first_of("#;") - 7);
    while (!line.empty()) {
      const std::size_t comma = std::min(line.find(','), line.size());
      add(first_component(line.substr(0, comma)));
      line.remove_prefix(std::min(comma + 1, line.size()));
    }
  });
  return names;
}

void compare_imports(const PythonInstallation& python, const PythonCommand& command,
                     const std::string& workdir, const Environment& env, FoundProgram& found) {
  if (command.script.empty() || python.packages.empty()) return;
  const std::vector<std::string> imports =
      imports_in(beginning_of(path_from(workdir, command.script), kMostText));
  if (imports.empty()) return;
  std::set<std::string, std::less<>> installed;
  bool is_certain = !python.standard.empty();
  for (const std::string& folder : python.packages) {
    add_modules(folder, installed);
    const auto more = path_files(folder);
    is_certain = is_certain && more;
    for (const std::string& other : more.value_or(std::vector<std::string>()))
      add_modules(other, installed);
  }
  std::set<std::string, std::less<>> all = installed;
  for (const std::string& folder : module_folders(python, command, workdir, env))
    add_modules(folder, all);
  for (const std::string& name : imports) {
    if (installed.contains(name)) found.imports.push_back(name);
    if (is_certain && !all.contains(name)) found.absent.push_back(name);
  }
}

}  // namespace dlaunch
