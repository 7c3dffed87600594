// A folder or file of the node that a container sees: HOST[:CONTAINER][:ro|rw], the form that all
// runtimes share. Pure.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch {

struct Mount {
  std::string host;    // absolute, or to be meant from the workdir
  std::string target;  // absolute, in the container
  bool read_only = false;
  bool operator==(const Mount&) const = default;
};

/// Why it is no mount, in words that follow "mounts[0]: "; empty: it is one.
[[nodiscard]] std::string problem_of_mount(std::string_view text);

/// The value of Container::workdir for the image's own WORKDIR.
inline constexpr std::string_view kImagesOwn = "image";

/// Why it is not a valid Container::workdir, as text after "workdir: "; empty: it is valid.
[[nodiscard]] std::string problem_of_container_workdir(std::string_view text);

/// An ECMA-262 pattern that matches at least all valid ones.
inline constexpr std::string_view kContainerWorkdirPattern = "^(/.*|image)$";

/// Of a text without a problem.
[[nodiscard]] Mount mount_of(std::string_view text);

/// An ECMA-262 pattern that takes at least all mounts.
inline constexpr std::string_view kMountPattern = "^[^:]+(:/[^:]*)?(:r[ow])?$";

}  // namespace dlaunch
