// Splits the text of a hostfile into lines without comments; hostfile.cc interprets them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "jobfile/diagnostics.h"
#include "jobfile/hostfile.h"
#include "jobfile/source.h"

namespace dlaunch::jobfile {

/// A word of a line. Refers to the text.
struct HostfileWord {
  std::string_view text;
  Place place;
};

/// "slots=4", also with blanks around '='.
struct HostfileSetting {
  HostfileWord key;
  HostfileWord value;  // empty: '=' without a value
};

struct HostfileLine {
  HostfileWord host;
  std::vector<HostfileSetting> settings;
  std::vector<HostfileWord> words;   // after the host, not part of a setting
  bool begins_with_setting = false;  // "slots=4": the host is missing, or has this name
};

/// The lines that are not empty. An unclosed "/*" is an error.
[[nodiscard]] std::vector<HostfileLine> hostfile_lines(std::string_view text,
                                                       Diagnostics& diagnostics);

/// Keywords of Open MPI's lexer (src/util/hostfile of PRRTE, hostfile_lex.l): three for the number
/// of slots, twelve spellings of its limit.
inline constexpr std::array<std::string_view, 3> kSlots{"slots", "cpu", "count"};
inline constexpr std::array<std::string_view, 12> kMaxSlots{
    "max_slots", "max-slots", "slots_max", "slots-max", "max_cpu",   "max-cpu",
    "cpu_max",   "cpu-max",   "max_count", "max-count", "count_max", "count-max"};
inline constexpr std::array<std::string_view, 3> kUser{"username", "user_name", "user-name"};
/// Words that cannot be a host name in that format.
inline constexpr std::array<std::string_view, 6> kKeywords{"slots", "slot", "cpu",
                                                           "count", "port", "rank"};

/// The format of a line; names if it fits all formats.
[[nodiscard]] HostfileForm form_of(const HostfileLine& line);

/// "host:4, the form of MPICH"
[[nodiscard]] const char* described(HostfileForm form);

[[nodiscard]] bool is_digits(std::string_view text);

}  // namespace dlaunch::jobfile
