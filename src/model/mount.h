// A node's folder or file that a container sees: HOST[:CONTAINER][:ro|rw], the syntax of all
// runtimes. Pure.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch {

struct Mount {
  std::string host;    // absolute, or relative to the workdir
  std::string target;  // absolute, in the container
  bool read_only = false;
  bool operator==(const Mount&) const = default;
};

/// Why `text` is not a valid mount, phrased to follow "mounts[0]: "; empty: it is valid.
[[nodiscard]] std::string problem_of_mount(std::string_view text);

/// The value of Container::workdir that selects the image's own WORKDIR.
inline constexpr std::string_view kImagesOwn = "image";

/// Why `text` is not a valid Container::workdir, phrased to follow "workdir: "; empty: it is valid.
[[nodiscard]] std::string problem_of_container_workdir(std::string_view text);

/// An ECMA-262 pattern that accepts at least all valid values.
inline constexpr std::string_view kContainerWorkdirPattern = "^(/.*|image)$";

/// `text` must be valid, see problem_of_mount().
[[nodiscard]] Mount mount_of(std::string_view text);

/// An ECMA-262 pattern that accepts at least all mounts.
inline constexpr std::string_view kMountPattern =
    "^(/[^:]*(:/[^:]*)?|[^:/][^:]*:/[^:]*)(:r[ow])?$";

}  // namespace dlaunch
