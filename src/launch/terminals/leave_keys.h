// The keys by which a user leaves a terminal that hangs, as in ssh: ~ at the beginning of a line,
// then a dot. Pure.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch {

class LeaveKeys {
 public:
  struct Typed {
    std::string bytes;    // for the program
    bool leaves = false;  // then nothing that follows counts
    bool operator==(const Typed&) const = default;
  };
  /// "~~" at the beginning of a line is one ~ for the program.
  [[nodiscard]] Typed take(std::string_view bytes);

 private:
  bool at_line_start_ = true;
  bool held_ = false;  // a ~ that may begin the keys
};

}  // namespace dlaunch
