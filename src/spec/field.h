// The types of the field table: one row says everything about one key of the job file.
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

namespace dlaunch::spec {

enum class Availability { available, not_yet };

/// A fixed word that a key takes: a choice, or what stands in for a number or a duration.
struct Word {
  std::string_view text;
  int value = 0;  // of the enumeration that it means; 0 for "auto", "none" beside a number
  Availability availability = Availability::available;
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
  name_list,           // of environment variables
  name_pattern_list,   // likewise, with * and ?
  integer_list,        // `min` to `max` each
  choice_list,         // of `words`
  choice_or_integers,  // one of `words`, or a list of numbers
  environment,         // a mapping of variable names to texts, numbers and booleans
  text_map,            // a mapping of any names to texts
  command,             // a text, or a list of texts
  record_list,  // of mappings, or of texts which are then the first key of `record`; or one of
                // `words`
};

/// What a value was read as. monostate: the mapping form of a role begins, or the next item of a
/// record_list. Word: one of the field's words. Sizes are bytes in int64.
using Value =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, const Word*, Duration,
                 std::pair<Duration, Duration>, std::vector<std::string>, std::vector<std::int64_t>,
                 std::vector<const Word*>, Environment, Command>;

struct Field {
  /// Dotted path. "hosts[].name": of each item of `hosts`; "roles.*.count": of each role.
  std::string_view key;
  Kind kind = Kind::text;
  /// As YAML text; reading it gives what JobSpec{} holds. Empty: no default, the key may be absent.
  std::string_view fallback{};
  /// One line, for `dlaunch schema` and docs/job-file.md.
  std::string_view help{};
  Availability availability = Availability::available;
  std::span<const Word> words{};
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int32_t>::max();
  /// Where the keys of its mapping form are ("nodes.", "roles.*.", "hosts[]."); empty: it has none.
  std::string_view record{};
  /// Of a choice_or_integers: whether the list can be used.
  Availability list_availability = Availability::available;
  /// Must be given wherever its mapping is.
  bool required = false;
  /// What other launchers call it, separated by spaces; only to say the right name.
  std::string_view also{};
  /// Of a text, or of each of a text_list: what is wrong with it, in words that follow "KEY: ";
  /// empty: nothing.
  std::string (*problem)(std::string_view) = nullptr;
  /// For the JSON Schema, where there is `problem`: an ECMA-262 pattern of what it takes, or of
  /// more.
  std::string_view pattern{};
  /// Puts a value that passed all checks above into the job.
  void (*write)(JobSpec&, const Value&) = nullptr;
};

}  // namespace dlaunch::spec
