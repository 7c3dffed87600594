#include "text/size_text.h"

#include <array>
#include <cstddef>

#include "text/strings.h"

namespace dlaunch {

namespace {

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t unit) {
  return bytes / unit + (bytes % unit >= unit / 2 ? 1 : 0);
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return counted(bytes, "byte");
  std::size_t index = 0;
  std::uint64_t unit = 1000;
  while (index + 1 < kUnits.size() && rounded(bytes, unit) >= 1000) {
    unit *= 1000;
    ++index;
  }
  const std::uint64_t tenths = rounded(bytes, unit / 10);
  const std::string number = tenths < 100
                                 ? std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10)
                                 : std::to_string(rounded(bytes, unit));
  return number + ' ' + kUnits[index];
}

std::string files_text(std::uint64_t files, std::uint64_t bytes) {
  return counted(files, "file") + ", " + size_text(bytes);
}

}  // namespace dlaunch
