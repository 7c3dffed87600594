#include "node/preemption/notice.h"

#include <algorithm>

#include "text/number.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostReason = 200;
constexpr std::chrono::hours kMostLeft{24 * 365};

std::optional<std::chrono::milliseconds> left_until(std::string_view value, WallTime now) {
  using std::chrono::milliseconds;
  std::optional<milliseconds> left;
  if (const auto seconds = count_from<double>(value)) {
    left = std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(
        std::min<double>(*seconds, std::chrono::seconds(kMostLeft).count())));
  } else if (const auto at = parse_time(value)) {
    left = std::chrono::duration_cast<milliseconds>(*at - now);
  }
  if (left) left = std::clamp(*left, milliseconds(0), milliseconds(kMostLeft));
  return left;
}

}  // namespace

Notice parse_notice(std::string_view text, WallTime now) {
  constexpr std::string_view kDeadline = "deadline:";
  Notice notice;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
    if (line.starts_with(kDeadline)) {
      if (!notice.left) notice.left = left_until(trimmed(line.substr(kDeadline.size())), now);
    } else if (notice.reason.empty()) {
      notice.reason = cut_to_columns(plain_line(line), kMostReason);
    }
  }
  return notice;
}

}  // namespace dlaunch
