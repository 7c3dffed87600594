// The program dlaunch-pmix as bytes: dlaunch carries it, so that it is on every node on which
// dlaunch is, of the same build. It needs libpmix.so.2 there, which dlaunch does not.
#pragma once

#include <string_view>

namespace dlaunch::pmix {

/// Empty: OpenPMIx was not there when dlaunch was built.
[[nodiscard]] std::string_view helper_image();

}  // namespace dlaunch::pmix
