#include "sync/unpack_rules.h"

#include <algorithm>
#include <array>

#include "sync/rules.h"
#include "text/number.h"
#include "text/strings.h"

namespace dlaunch::sync {

namespace {

constexpr std::size_t kTarHeader = 512;
constexpr std::size_t kMostPath = 4095;  // PATH_MAX without its NUL
constexpr std::size_t kMostName = 255;   // NAME_MAX

/// Checks the header of the first member (POSIX.1 pax, "ustar Interchange Format") by the sum of
/// its bytes, with those of the sum itself counted as blanks. Old programs summed signed bytes.
bool is_tar(std::string_view beginning) {
  constexpr std::size_t kSum = 148;
  constexpr std::size_t kSumEnd = 156;
  if (beginning.size() < kTarHeader) return false;
  if (beginning.find_first_not_of('\0') == std::string_view::npos) return true;  // without members
  long plain = 0;
  long as_signed = 0;
  for (std::size_t i = 0; i < kTarHeader; ++i) {
    const char c = i >= kSum && i < kSumEnd ? ' ' : beginning[i];
    plain += static_cast<unsigned char>(c);
    as_signed += static_cast<signed char>(c);
  }
  std::string_view digits = beginning.substr(kSum, kSumEnd - kSum);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find_first_not_of("01234567"));
  const auto sum = number_of<long>(digits, 8);
  return sum && (*sum == plain || *sum == as_signed);
}

}  // namespace

bool is_zip(std::string_view beginning) {
  return beginning.starts_with("PK\x03\x04") || beginning.starts_with("PK\x05\x06");
}

bool is_archive(std::string_view beginning) {
  using std::string_view_literals::operator""sv;
  // RFC 1952; the .xz format, 2.1.1.1; RFC 8878, 3.1.1; bzip2.
  constexpr std::array kCompressed{"\x1f\x8b"sv,
                                   "\xfd"
                                   "7zXZ\0"sv,
                                   "\x28\xb5\x2f\xfd"sv, "BZh"sv};
  return is_zip(beginning) || is_tar(beginning) ||
         std::any_of(kCompressed.begin(), kCompressed.end(),
                     [&](std::string_view magic) { return beginning.starts_with(magic); });
}

std::string archive_beside(std::string_view name) {
  return std::string(kOwnPrefix).append("archive-").append(name);
}

std::string unpacking_beside(std::string_view name) {
  return std::string(kOwnPrefix).append("unpack-").append(name);
}

std::string record_beside(std::string_view name) {
  return std::string(kOwnPrefix).append("unpacked-").append(name);
}

std::optional<std::string> member_path(std::string_view name) {
  if (name.empty() || name.starts_with('/') || name.size() > kMostPath) return std::nullopt;
  if (name.find('\0') != std::string_view::npos) return std::nullopt;
  std::string path;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view step = name.substr(at, end - at);
    at = end + 1;
    if (step.empty() || step == ".") continue;
    if (step == ".." || step.size() > kMostName) return std::nullopt;
    if (!path.empty()) path += '/';
    path += step;
  }
  return path.empty() ? "." : path;
}

std::string record_text(const std::vector<Unpacked>& record) {
  std::string text;
  for (const Unpacked& one : record) {
    text += std::to_string(one.size) + ' ' + std::to_string(one.mtime) + ' ' +
            std::to_string(one.device) + ' ' + std::to_string(one.inode) + ' ' +
            std::to_string(one.born) + '\n';
  }
  return text;
}

std::vector<Unpacked> read_record(std::string_view text) {
  std::vector<Unpacked> record;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const auto next = [&line]() {
      const std::string_view word = line.substr(0, line.find(' '));
      line.remove_prefix(std::min(word.size() + 1, line.size()));
      return word;
    };
    const auto size = number_of<std::uint64_t>(next());
    const auto mtime = number_of<std::int64_t>(next());
    const auto device = number_of<std::uint64_t>(next());
    const auto inode = number_of<std::uint64_t>(next());
    const auto born = number_of<std::int64_t>(next());
    if (size && mtime && device && inode && born && line.empty())
      record.push_back({*size, *mtime, *device, *inode, *born});
  }
  return record;
}

}  // namespace dlaunch::sync
