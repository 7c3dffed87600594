// The types of the field table: each row describes one key of the job file.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/job_spec.h"

namespace dlaunch::jobfile {

/// A fixed word that a key accepts: a choice, or a substitute for a number or a duration.
struct Keyword {
  std::string_view text;
  int value = 0;  // the enumerator that the word stands for; 0 if there is none
};

enum class Kind {
  text,  // not empty
  boolean,
  integer,         // `min` to `max`, or one of `words`
  number,          // with a fraction, greater than 0, or one of `words`
  choice,          // one of `words`
  duration,        // `min` to `max` milliseconds, or one of `words`
  duration_range,  // "5s..5m"
  size,            // "16g"
  signal,          // a name of signal(7), with or without SIG
  text_list,
  name_list,           // environment variable names
  name_pattern_list,   // the same, with * and ?
  integer_list,        // `min` to `max` each
  choice_list,         // of `words`
  choice_or_integers,  // one of `words`, or a list of numbers
  environment,         // a mapping from variable names to texts, numbers and booleans
  text_map,            // a mapping from any names to texts
  command,             // a text, or a list of texts
  record_list,  // a list of mappings or texts, or one of `words`; a text is the `name` or `from` of
                // a record
};

/// A value as read. monostate: starts a role in mapping form, or the next item of a record_list.
/// Keyword: one of the field's keywords. Sizes are bytes in int64.
using Value =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, const Keyword*, Duration,
                 std::pair<Duration, Duration>, std::vector<std::string>, std::vector<std::int64_t>,
                 std::vector<const Keyword*>, Environment, Command>;

struct Field {
  /// Dotted path. "hosts[].name": for each item of `hosts`; "roles.*.count": for each role.
  std::string_view key;
  Kind kind = Kind::text;
  /// YAML text that reads as the value in JobSpec{}. Empty: no default, the key may be absent.
  std::string_view fallback{};
  /// A value as in a job file, for a key without a default or with one that says little.
  std::string_view example{};
  /// One line for `dlaunch schema` and docs/reference/job-file.md.
  std::string_view help{};
  std::span<const Keyword> words{};
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int32_t>::max();
  /// Prefix of the keys of the mapping form ("nodes.", "roles.*.", "hosts[]."); empty: no such
  /// form.
  std::string_view record{};
  /// Required wherever the enclosing mapping is present.
  bool required = false;
  /// Names for this key in other launchers, separated by spaces; used only to suggest the right
  /// name.
  std::string_view also{};
  /// Returns the problem of a text or of an item of a text_list, phrased to follow "KEY: "; empty:
  /// none.
  std::string (*problem)(std::string_view) = nullptr;
  /// For the JSON Schema, where `problem` is set: an ECMA-262 pattern that accepts at least all
  /// valid values.
  std::string_view pattern{};
  /// For a key of `connect` that only some connectors read: the names of these connectors,
  /// separated by spaces. With any other `connect.via` the key is an error.
  std::string_view connectors{};
  /// Stores a value that has passed all the checks above in the job.
  void (*write)(JobSpec&, const Value&) = nullptr;
};

/// All rows, in the order of the documentation.
[[nodiscard]] std::span<const Field> fields();

/// The row of a key spelled as in Field::key; nullptr: none.
[[nodiscard]] const Field* find_field(std::string_view key);

/// The row of the key that an item of a record_list means if it is only a text; nullptr: none.
[[nodiscard]] const Field* field_of_text_item(const Field& list);

/// True if keys of the table begin with `prefix` ("restart.", "hosts[].").
[[nodiscard]] bool is_section(std::string_view prefix);

/// The names that may appear directly under `prefix`, each once, in table order; "" is the top
/// level.
[[nodiscard]] std::vector<std::string_view> names_under(std::string_view prefix);

/// The spellings of the field's keywords.
[[nodiscard]] std::vector<std::string_view> spellings(const Field& field);

/// The keyword with that spelling; nullptr: none.
[[nodiscard]] const Keyword* find_word(const Field& field, std::string_view text);

}  // namespace dlaunch::jobfile
