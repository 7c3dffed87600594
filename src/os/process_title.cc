#include "os/process_title.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <sys/prctl.h>
#include <unistd.h>

#include "os/proc_file.h"

namespace dlaunch {

namespace {

/// The memory that holds the command line of a process for the kernel: proc(5), fields 48 to 51.
struct Area {
  char* begin = nullptr;
  char* end = nullptr;
  [[nodiscard]] bool holds(const char* at) const { return at >= begin && at < end; }
};

char* address_in(std::string_view stat, int number) {
  const std::string_view text = stat_field(stat, number);
  std::uintptr_t value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return reinterpret_cast<char*>(value);  // NOLINT: an address from the kernel
}

/// The arguments, and the environment if it follows them directly.
Area command_line_area() {
  const std::string stat = read_proc_file("/proc/self/stat");
  Area area{address_in(stat, 48), address_in(stat, 49)};
  if (area.begin == nullptr || area.end <= area.begin) return {};
  if (address_in(stat, 50) == area.end) area.end = std::max(area.end, address_in(stat, 51));
  return area;
}

/// The copies are never freed: a caller of getenv(3) may have kept a pointer.
void move_environment(const Area& area) {
  std::size_t count = 0;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) ++count;
  char** moved = new char*[count + 1];  // NOLINT: belongs to the process, as environ always does
  for (std::size_t i = 0; i < count; ++i)
    moved[i] = area.holds(environ[i]) ? ::strdup(environ[i]) : environ[i];
  moved[count] = nullptr;
  environ = moved;
}

Area free_area() {
  const Area area = command_line_area();
  if (area.begin != nullptr) move_environment(area);
  return area;
}

/// "dlaunch-engine" for "dlaunch: engine ID", at most 15 bytes (prctl(2)).
std::string short_name(const std::string& title) {
  std::string name = title;
  if (const auto at = name.find(": "); at != std::string::npos) name.replace(at, 2, "-");
  return name.substr(0, std::min<std::size_t>(name.find(' '), 15));
}

}  // namespace

void set_process_title(const std::string& title) {
  ::prctl(PR_SET_NAME, short_name(title).c_str());
  static const Area area = free_area();  // a forked child uses its parent's
  if (area.begin == nullptr) return;
  const auto room = static_cast<std::size_t>(area.end - area.begin);
  const std::size_t size = std::min(title.size(), room - 1);
  std::memset(area.begin, 0, room);
  std::memcpy(area.begin, title.data(), size);
}

}  // namespace dlaunch
