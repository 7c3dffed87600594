// The words and forms of hostfiles; hostfile.cc reads them.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "spec/hostfile.h"
#include "spec/hostfile_lines.h"

namespace dlaunch::spec {

/// What Open MPI's lexer takes for keywords (src/util/hostfile of PRRTE, hostfile_lex.l): three
/// words for the slots, twelve spellings of their limit.
inline constexpr std::array<std::string_view, 3> kSlots{"slots", "cpu", "count"};
inline constexpr std::array<std::string_view, 12> kMaxSlots{
    "max_slots", "max-slots", "slots_max", "slots-max", "max_cpu",   "max-cpu",
    "cpu_max",   "cpu-max",   "max_count", "max-count", "count_max", "count-max"};
inline constexpr std::array<std::string_view, 3> kUser{"username", "user_name", "user-name"};
/// Words that cannot be a host in that form.
inline constexpr std::array<std::string_view, 6> kKeywords{"slots", "slot", "cpu",
                                                           "count", "port", "rank"};

/// The form that a line shows; names when it fits all forms.
[[nodiscard]] HostfileForm form_of(const HostfileLine& line);

/// "host:4, as MPICH has it"
[[nodiscard]] const char* described(HostfileForm form);

[[nodiscard]] bool is_digits(std::string_view text);

}  // namespace dlaunch::spec
