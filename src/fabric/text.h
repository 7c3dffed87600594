// Strict parsing of small texts of sysfs and of programs: anything unexpected is ignored. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::fabric {

inline constexpr int kMostNuma = 65535;

/// "0x1a" or "1a": up to eight hexadecimal digits and nothing else.
[[nodiscard]] std::optional<std::uint32_t> parse_hex(std::string_view text);

/// True for 1 to 64 letters, digits and "_.:@-", as devices and interfaces are named.
[[nodiscard]] bool is_device_name(std::string_view name);

/// The text if it is printable ASCII and at most `most` long, else empty. Everything that is shown
/// or sent passes through here.
[[nodiscard]] std::string plain_or_empty(std::string_view text, std::size_t most = 128);

/// Orders names by the numbers in them: mlx5_2 before mlx5_10.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

/// What could not be parsed, for the user: the first sixteen.
class Oddities {
 public:
  void add(std::string text);
  [[nodiscard]] std::vector<std::string> take() { return std::move(texts_); }

 private:
  std::vector<std::string> texts_;
};

}  // namespace dlaunch::fabric
