#include "model/time.h"

namespace dlaunch {

DateParts date_parts(WallTime time) {
  const auto days = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss clock(time - days);
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          static_cast<int>(clock.hours().count()),
          static_cast<int>(clock.minutes().count()),
          static_cast<int>(clock.seconds().count()),
          static_cast<int>(clock.subseconds().count())};
}

void append_digits(std::string& out, int value, int digits) {
  const std::size_t begin = out.size();
  out.append(static_cast<std::size_t>(digits), '0');
  for (std::size_t at = out.size(); at > begin && value > 0; value /= 10) {
    out[--at] = static_cast<char>('0' + value % 10);
  }
}

std::string time_text(WallTime time) {
  const DateParts parts = date_parts(time);
  std::string out;
  out.reserve(27);
  append_digits(out, parts.year, 4);
  out += '-';
  append_digits(out, parts.month, 2);
  out += '-';
  append_digits(out, parts.day, 2);
  out += 'T';
  append_digits(out, parts.hour, 2);
  out += ':';
  append_digits(out, parts.minute, 2);
  out += ':';
  append_digits(out, parts.second, 2);
  out += '.';
  append_digits(out, parts.nanosecond / 1000, 6);
  out += 'Z';
  return out;
}

}  // namespace dlaunch
