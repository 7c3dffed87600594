#include "os/random_secret.h"

#include <array>
#include <cerrno>

#include <sys/random.h>

namespace dlaunch {

Result<std::string> random_secret() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail_errno(exit_code::kInternal, "getrandom", errno);
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace dlaunch
