// Translates a container request into the command line of a runtime: one pure function per runtime.
// Every container shares the node's network, process numbers, host name and /dev/shm, runs as our
// own user, and gets no variables of the node. The command line has no variables of the rank
// either, because our own program in the container receives them separately.
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
  std::string name;           // of the container, without the rank's number at its end
  /// Command that is executed in the container, without its last word, the rank's number.
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
