// Translates a container request into each runtime's command line: one pure function per runtime.
// Common to all: the node's network, process numbers, host name and /dev/shm, our own user, no
// variables of the node; and no variable of the rank on the command line, because our own program
// inside receives them separately.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/launch_plan.h"
#include "model/mount.h"

namespace dlaunch::containers {

struct Wanted {
  std::string program;  // absolute path of the runtime
  std::string image;
  std::vector<Mount> mounts;         // each target once
  std::vector<std::string> options;  // the user's, last before the image
  bool gpus = false;
  std::uint64_t own_shm = 0;  // bytes of a separate /dev/shm; 0: the node's
  std::string name;           // of the container, before the rank's number
  /// Executed in the container, up to the rank's number, which is the last word.
  std::vector<std::string> entry;
  std::string
      rc;  // a shell script that executes its arguments (node/containers/container_folder.h)
};

[[nodiscard]] ContainerPlan podman(const Wanted&, const ContainerFacts&);
[[nodiscard]] ContainerPlan docker(const Wanted&, const ContainerFacts&);
/// Apptainer, and Singularity, its former name.
[[nodiscard]] ContainerPlan apptainer(const Wanted&, const ContainerFacts&);
[[nodiscard]] ContainerPlan charliecloud(const Wanted&, const ContainerFacts&);
[[nodiscard]] ContainerPlan enroot(const Wanted&, const ContainerFacts&);

}  // namespace dlaunch::containers
