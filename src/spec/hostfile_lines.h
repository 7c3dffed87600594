// Text of a hostfile -> its lines, without comments: what hostfile.cc gives a meaning to.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "spec/diagnostics.h"
#include "spec/source.h"

namespace dlaunch::spec {

/// A word of a line. Points into the text.
struct HostfileWord {
  std::string_view text;
  Place place;
};

/// "slots=4", also with blanks around '='.
struct HostfileSetting {
  HostfileWord key;
  HostfileWord value;  // empty: nothing stands behind '='
};

struct HostfileLine {
  HostfileWord host;  // the first word, whatever it is
  std::vector<HostfileSetting> settings;
  std::vector<HostfileWord> words;   // behind the host, not part of a setting
  bool begins_with_setting = false;  // "slots=4": the host is missing, or is called so
};

/// The lines that hold anything. An open "/*" is an error.
[[nodiscard]] std::vector<HostfileLine> hostfile_lines(std::string_view text,
                                                       Diagnostics& diagnostics);

}  // namespace dlaunch::spec
