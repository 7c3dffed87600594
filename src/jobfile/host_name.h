// Valid host names, addresses, user names and job names. All but job names become arguments of ssh
// or of the user's own connector, where a leading '-' would start an option and "$(...)" would be
// executed. They may therefore contain only characters that have no special meaning there.
#pragma once

#include <string>
#include <string_view>

#include "model/job_spec.h"

namespace dlaunch::jobfile {

inline constexpr std::size_t kMostNameLength = 253;  // RFC 1035, section 2.3.4, as text

/// A letter, a digit, '-', '_' or '.'.
[[nodiscard]] bool is_name_character(char c);

/// An IPv6 address without brackets: at least two colons, hexadecimal digits, an optional zone
/// ("fe80::1%eth0", RFC 4007, section 11). The check only tells an address from a typing error; an
/// invalid address fails when dlaunch connects.
[[nodiscard]] bool is_ipv6(std::string_view text);

/// The problem with a name or address ("gpu01", "10.0.0.4", "fe80::1"), a user name, or a list of
/// network interfaces and subnets ("eth0,ens*", "^10.1.0.0/16"), phrased to follow "KEY: "; empty:
/// none.
[[nodiscard]] std::string problem_of_address(std::string_view text);
[[nodiscard]] std::string problem_of_user(std::string_view text);
[[nodiscard]] std::string problem_of_interface(std::string_view text);

/// The same for a whole host list (hostlist.h) and for text that becomes an argument.
[[nodiscard]] std::string problem_of_hosts(std::string_view text);
[[nodiscard]] std::string problem_of_argument(std::string_view text);
/// The same for the name of a Python module.
[[nodiscard]] std::string problem_of_module(std::string_view text);

/// ECMA-262 patterns that accept at least all valid values.
inline constexpr std::string_view kAddressPattern = "^[A-Za-z0-9_.:][A-Za-z0-9_.:%-]*$";
inline constexpr std::string_view kUserPattern = "^[A-Za-z0-9_.][A-Za-z0-9_.-]*$";
inline constexpr std::string_view kInterfacePattern = "^[A-Za-z0-9_.:^*][A-Za-z0-9_.:@^*,/ -]*$";
inline constexpr std::string_view kHostlistPattern =
    R"(^[A-Za-z0-9_.,:@%\[\] \t\r\n-]*[A-Za-z0-9_.\]][A-Za-z0-9_.,:@%\[\] \t\r\n-]*$)";
inline constexpr std::string_view kModulePattern = R"(^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$)";
inline constexpr std::string_view kArgumentPattern = R"(^[^\x00-\x1f\x7f-][^\x00-\x1f\x7f]*$)";

/// "train" for `python -u train.py --epochs 3`: the stem of the first argument that looks like a
/// script, else the last part of the module after -m, else the file name of the program.
[[nodiscard]] std::string name_from_command(const Command& command);

/// The name of a job, which may be any text, in a form for file names and options of other
/// programs: at most 64 of the characters A-Z a-z 0-9 . _ -. Other characters become '-', the
/// result begins with a letter, a digit or '_', and an empty result becomes "dlaunch".
[[nodiscard]] std::string name_as_word(std::string_view name);

}  // namespace dlaunch::jobfile
