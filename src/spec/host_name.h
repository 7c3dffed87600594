// What may stand for a host, an address or a user. These end up as arguments of ssh or of the
// user's own connector, where a leading '-' would be an option and "$(...)" something to run, so
// only characters that mean nothing there are taken.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch::spec {

inline constexpr std::size_t kMostNameLength = 253;  // RFC 1035, section 2.3.4, as text

/// A letter, a digit, '-', '_' or '.'.
[[nodiscard]] bool is_name_character(char c);

/// An IPv6 address without brackets: two colons at least, hexadecimal digits, a zone if need be
/// ("fe80::1%eth0", RFC 4007, section 11). Only so much is checked as tells an address from a
/// typing error; the connection says the rest.
[[nodiscard]] bool is_ipv6(std::string_view text);

/// What is wrong with one name or address ("gpu01", "10.0.0.4", "fe80::1"), with a user's name,
/// with a list of network interfaces and subnets ("eth0,ens*", "^10.1.0.0/16"); empty: nothing. The
/// words follow "KEY: ".
[[nodiscard]] std::string problem_of_address(std::string_view text);
[[nodiscard]] std::string problem_of_user(std::string_view text);
[[nodiscard]] std::string problem_of_interface(std::string_view text);

/// What is wrong with a whole host list (hostlist.h), with a text that becomes an argument.
[[nodiscard]] std::string problem_of_hosts(std::string_view text);
[[nodiscard]] std::string problem_of_argument(std::string_view text);

/// ECMA-262 patterns that take at least all that is taken above.
inline constexpr std::string_view kAddressPattern = "^[A-Za-z0-9_.:][A-Za-z0-9_.:%-]*$";
inline constexpr std::string_view kUserPattern = "^[A-Za-z0-9_.][A-Za-z0-9_.-]*$";
inline constexpr std::string_view kInterfacePattern = "^[A-Za-z0-9_.:^*][A-Za-z0-9_.:@^*,/ -]*$";
inline constexpr std::string_view kHostlistPattern =
    R"(^[A-Za-z0-9_.,:@%\[\] \t\r\n-]*[A-Za-z0-9_.\]][A-Za-z0-9_.,:@%\[\] \t\r\n-]*$)";
inline constexpr std::string_view kArgumentPattern = R"(^[^\x00-\x1f\x7f-][^\x00-\x1f\x7f]*$)";

}  // namespace dlaunch::spec
