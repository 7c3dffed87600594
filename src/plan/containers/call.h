// How each runtime is told to bring a rank into a container: one pure function a runtime, from what
// is wanted to its command line. What all have in common: the network, process numbers, host name
// and /dev/shm of the node, our own user, no variable of the node; and no variable of the rank on
// the command line, because it comes to our own program in there by another way.
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
  std::vector<std::string> options;  // of the user, the last before the image
  bool gpus = false;
  std::uint64_t own_shm = 0;  // bytes of a /dev/shm of its own; 0: that of the node
  std::string name;           // of the container, up to the rank's number
  /// What is executed in it, up to the rank's number, which is the last word.
  std::vector<std::string> entry;
  std::string
      rc;  // a shell script that executes its arguments (agent/containers/container_folder.h)
};

[[nodiscard]] ContainerPlan podman(const Wanted&, const ContainerFacts&);
[[nodiscard]] ContainerPlan docker(const Wanted&, const ContainerFacts&);
/// Apptainer, and Singularity, whose name it had before.
[[nodiscard]] ContainerPlan apptainer(const Wanted&, const ContainerFacts&);
[[nodiscard]] ContainerPlan charliecloud(const Wanted&, const ContainerFacts&);
[[nodiscard]] ContainerPlan enroot(const Wanted&, const ContainerFacts&);

}  // namespace dlaunch::containers
