// The sections of accelerate's config files, with their keys. accelerate launch copies the
// keys to its own options (commands/launch.py: _validate_launch_command), and hands these to the
// program as variables (utils/launch.py: prepare_*_env). An option that no key sets has the
// option's default, which is not always that of accelerate's library.
// tests/frameworks/accelerate_launch.py compares with accelerate itself.
#pragma once

#include <span>
#include <string_view>

#include "spec/dialects/accelerate.h"

namespace dlaunch::spec::accelerate {

enum class Letters { exact, lower, upper };

struct Option {
  std::string_view key;           // without the section's prefix
  std::string_view initial = {};  // what the variable is without the key; empty: not set
  Letters letters = Letters::exact;
  std::string_view variable = {};   // empty: the section's prefix and the key in capitals
  std::string_view only_with = {};  // not set unless this other key of the section is above 1
};

enum class Prefix { none, needed, added };  // added: accelerate puts it before keys without it
enum class Others { noted, passed };        // keys that are not in the list

struct Section {
  std::string_view name;
  std::string_view prefix;  // of its keys
  Prefix has_prefix;
  std::string_view variables;  // prefix of theirs
  std::string_view use;        // a variable that marks the section as used; empty: none
  std::span<const Option> options;
  bool (*is_used)(const Settings& settings, bool is_given);
  Others others = Others::noted;
};

/// All of them, as accelerate 1.15 has them, and what older releases had.
[[nodiscard]] std::span<const Section> sections();

}  // namespace dlaunch::spec::accelerate
