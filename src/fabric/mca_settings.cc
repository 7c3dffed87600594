#include "fabric/mca_settings.h"

#include <algorithm>
#include <optional>

#include "fabric/tree.h"
#include "text/strings.h"

namespace dlaunch::fabric {

namespace {

constexpr std::string_view kSystemName = "/openmpi-mca-params.conf";
constexpr std::size_t kMostSettings = 256;
constexpr std::size_t kMostValue = 1023;

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t colon = list.find(':');
    const std::string_view part = list.substr(0, colon);
    list.remove_prefix(colon == std::string_view::npos ? list.size() : colon + 1);
    if (part.starts_with('/')) parts.emplace_back(part);
  }
  return parts;
}

std::string value_in(const Environment& environment, const char* name) {
  return find_variable(environment, name).value_or("");
}

std::vector<std::string> of_installations(const Environment& environment) {
  if (const auto folder = value_in(environment, "OPAL_SYSCONFDIR"); !folder.empty())
    return {folder + std::string(kSystemName)};
  if (const auto prefix = value_in(environment, "OPAL_PREFIX"); !prefix.empty())
    return {prefix + "/etc" + std::string(kSystemName)};
  std::vector<std::string> files;
  for (const std::string& folder : parts_of(value_in(environment, "LD_LIBRARY_PATH"))) {
    const std::size_t last = folder.find_last_not_of('/');
    const std::size_t slash = last == std::string::npos ? last : folder.rfind('/', last);
    if (slash == std::string::npos || slash == 0) continue;
    files.push_back(folder.substr(0, slash) + "/etc" + std::string(kSystemName));
  }
  for (const char* folder : {"/etc/openmpi", "/etc/openmpi-x86_64", "/etc", "/usr/local/etc"})
    files.push_back(folder + std::string(kSystemName));
  return files;
}

/// Removes and returns the text up to the next blank; also removes the blanks after it.
std::string_view next_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest = trimmed(rest.substr(end));
  return word;
}

std::string_view unquoted(std::string_view value) {
  const bool is_quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                         value.back() == value.front();
  return is_quoted ? value.substr(1, value.size() - 2) : value;
}

void add_line(std::string_view line, Environment& settings) {
  line = trimmed(line.substr(0, line.find('#')));
  std::string_view name;
  std::string_view value;
  if (line.starts_with('-')) {
    const std::string_view option = next_word(line);
    if (option != "-mca" && option != "--mca") return;
    name = next_word(line);
    value = line;
  } else {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return;
    name = trimmed(line.substr(0, equals));
    value = trimmed(line.substr(equals + 1));
  }
  value = unquoted(value);
  const bool is_plain =
      is_device_name(name) && plain_or_empty(value, kMostValue).size() == value.size();
  if (is_plain) settings.emplace("OMPI_MCA_" + std::string(name), value);
}

std::optional<std::string> read_below(const std::string& root, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return Tree(root + path.substr(0, slash + 1)).read(path.substr(slash + 1));
}

}  // namespace

McaFiles mca_files(const Environment& environment) {
  for (const char* name : {"OMPI_MCA_mca_base_param_files", "OMPI_MCA_mca_param_files"}) {
    if (const auto list = find_variable(environment, name)) return {parts_of(*list), {}};
  }
  McaFiles files;
  if (const auto home = value_in(environment, "HOME"); home.starts_with('/'))
    files.chosen.push_back(home + "/.openmpi/mca-params.conf");
  files.installation = of_installations(environment);
  return files;
}

void add_mca_settings(std::string_view text, Environment& settings) {
  while (!text.empty() && settings.size() < kMostSettings) {
    add_line(take_line(text), settings);
  }
}

Environment read_mca_settings(const std::string& root, const McaFiles& files) {
  Environment settings;
  for (const std::string& file : files.chosen)
    add_mca_settings(read_below(root, file).value_or(""), settings);
  for (const std::string& file : files.installation) {
    const auto text = read_below(root, file);
    if (!text) continue;
    Environment own;
    add_mca_settings(*text, own);
    std::erase_if(own, [](const auto& setting) { return setting.second.starts_with('^'); });
    settings.merge(own);
    break;
  }
  return settings;
}

}  // namespace dlaunch::fabric
