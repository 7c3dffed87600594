#include "model/time.h"

#include "text/strings.h"

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

Result<WallTime> parse_time(std::string_view text) {
  using namespace std::chrono;
  const std::string whole(text);
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  int numbers[6] = {};  // sscanf would add 70 KB to the program
  bool fits = text.size() > kForm.size();
  for (std::size_t at = 0, field = 0; fits && at < kForm.size(); ++at) {
    if (kForm[at] == '0') {
      fits = is_digit(text[at]);
      numbers[field] = numbers[field] * 10 + (text[at] - '0');
    } else {
      fits = text[at] == kForm[at];
      ++field;
    }
  }
  if (!fits) return fail(exit_code::kUsage, "not a time in RFC 3339: \"" + whole + '"');
  std::int64_t fraction = 0;
  if (text[kForm.size()] == '.') {
    std::int64_t unit = 100'000'000;
    for (std::size_t at = kForm.size() + 1; at < text.size() && text[at] >= '0' && text[at] <= '9';
         ++at, unit /= 10)
      fraction += (text[at] - '0') * unit;
  }
  const year_month_day date{year(numbers[0]), month(static_cast<unsigned>(numbers[1])),
                            day(static_cast<unsigned>(numbers[2]))};
  if (!date.ok() || !text.ends_with('Z'))
    return fail(exit_code::kUsage, "not a time in UTC: \"" + whole + '"');
  return WallTime(sys_days(date)) + hours(numbers[3]) + minutes(numbers[4]) + seconds(numbers[5]) +
         nanoseconds(fraction);
}

}  // namespace dlaunch
