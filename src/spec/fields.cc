#include "spec/fields.h"

#include <algorithm>

namespace dlaunch::spec {

const Field* find_field(std::string_view key) {
  const auto found = std::find_if(fields().begin(), fields().end(),
                                  [key](const Field& field) { return field.key == key; });
  return found == fields().end() ? nullptr : &*found;
}

bool is_section(std::string_view prefix) {
  return std::any_of(fields().begin(), fields().end(),
                     [prefix](const Field& field) { return field.key.starts_with(prefix); });
}

bool is_section_not_yet(std::string_view prefix) {
  return std::all_of(fields().begin(), fields().end(), [prefix](const Field& field) {
    return !field.key.starts_with(prefix) || field.availability == Availability::not_yet;
  });
}

std::vector<std::string_view> names_under(std::string_view prefix) {
  std::vector<std::string_view> names;
  for (const Field& field : fields()) {
    if (!field.key.starts_with(prefix)) continue;
    const std::string_view rest = field.key.substr(prefix.size());
    const std::string_view name = rest.substr(0, rest.find_first_of(".["));
    const bool is_new = std::find(names.begin(), names.end(), name) == names.end();
    if (name != "*" && is_new) names.push_back(name);
  }
  return names;
}

const Word* find_word(const Field& field, std::string_view text) {
  for (const Word& word : field.words) {
    if (word.text == text) return &word;
  }
  return nullptr;
}

}  // namespace dlaunch::spec
