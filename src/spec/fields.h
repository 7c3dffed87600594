// THE ONE FIELD TABLE of the native job file. Reader, defaults, errors and suggestions come from
// it, and so do the JSON Schema and docs/job-file.md. To make a feature available, change the word
// in its row.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "spec/field.h"

namespace dlaunch::spec {

/// All rows, in the order in which a person reads about them.
[[nodiscard]] std::span<const Field> fields();

/// The row of a key written as in Field::key; nullptr: none.
[[nodiscard]] const Field* find_field(std::string_view key);

/// True if `prefix` ("restart.", "hosts[].") begins keys of the table.
[[nodiscard]] bool is_section(std::string_view prefix);

/// True if none of the keys that begin with `prefix` can be used yet.
[[nodiscard]] bool is_section_not_yet(std::string_view prefix);

/// Names that may stand directly under `prefix`, each once, in table order; "" is the top level.
[[nodiscard]] std::vector<std::string_view> names_under(std::string_view prefix);

/// The word of that spelling; nullptr: none.
[[nodiscard]] const Word* find_word(const Field& field, std::string_view text);

}  // namespace dlaunch::spec
