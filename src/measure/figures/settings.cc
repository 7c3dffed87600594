#include "measure/figures/settings.h"

#include <utility>

#include "text/number.h"

namespace dlaunch::measure {

Settings& Settings::set(const std::string& key, std::string value) {
  values_.insert_or_assign(key, std::move(value));
  return *this;
}

Settings& Settings::set(const std::string& key, std::uint64_t value) {
  return set(key, std::to_string(value));
}

std::vector<std::string> Settings::words() const {
  std::vector<std::string> words;
  for (const auto& [key, value] : values_) words.push_back(key + '=' + value);
  return words;
}

std::string Settings::text(const std::string& key, const std::string& otherwise) const {
  const auto found = values_.find(key);
  return found == values_.end() ? otherwise : found->second;
}

std::uint64_t Settings::number(const std::string& key, std::uint64_t otherwise) const {
  return number_of<std::uint64_t>(text(key)).value_or(otherwise);
}

Result<Settings> read_settings(const std::vector<std::string>& words) {
  Settings settings;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    if (equals == std::string::npos || key.empty() || settings.has(key))
      return fail(exit_code::kUsage, "expected KEY=VALUE, not \"" + word + '"');
    settings.set(key, word.substr(equals + 1));
  }
  return settings;
}

}  // namespace dlaunch::measure
