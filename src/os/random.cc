#include "os/random.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/random.h>
#include <unistd.h>

#include "os/clock.h"
#include "text/hex.h"

namespace dlaunch {

Result<std::string> random_secret() {
  std::array<char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail_errno(exit_code::kInternal, "getrandom", errno);
  return hex_digits({bytes.data(), bytes.size()});
}

bool is_same_secret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  return static_cast<std::uint64_t>(monotonic_now().count()) << 22 ^
         static_cast<std::uint64_t>(::getpid());
}

std::string random_name(std::string_view prefix) {
  const std::uint64_t number = random_number();
  std::array<char, sizeof number> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> (8 * i));
  return std::string(prefix) + hex_digits({bytes.data(), bytes.size()});
}

}  // namespace dlaunch
