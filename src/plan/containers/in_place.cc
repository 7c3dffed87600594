// Runtimes without an engine: their containers are ordinary child processes, with the node's
// network, process numbers, devices and user.
#include <algorithm>
#include <string>
#include <string_view>

#include "plan/containers/container_call.h"

namespace dlaunch::containers {

namespace {

ContainerPlan finished(ContainerPlan plan, const Wanted& wanted, const char* separator) {
  auto& argv = plan.argv;
  argv.insert(argv.end(), wanted.options.begin(), wanted.options.end());
  argv.push_back(wanted.image);
  if (*separator != '\0') argv.emplace_back(separator);
  argv.insert(argv.end(), wanted.entry.begin(), wanted.entry.end());
  plan.image = wanted.image;
  plan.name = wanted.name;
  return plan;
}

bool is_below(std::string_view path, std::string_view folder) {
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

}  // namespace

// Apptainer user guide: "apptainer exec", "Bind Paths and Mounts", "GPU Support", "Environment and
// Metadata" (--cleanenv: only what the image sets). /tmp, $HOME and /dev are the node's by default.
ContainerPlan apptainer(const Wanted& wanted, const ContainerFacts&) {
  ContainerPlan plan;
  plan.runtime = "apptainer";
  plan.argv = {wanted.program, "exec", "--cleanenv"};
  if (wanted.gpus) plan.argv.emplace_back("--nv");
  for (const Mount& mount : wanted.mounts)
    plan.argv.push_back("--bind=" + mount.host + ':' + mount.target +
                        (mount.read_only ? ":ro" : ""));
  return finished(std::move(plan), wanted, "");
}

// ch-run(1): --unset-env takes a glob; /dev, /proc, /sys and /tmp are the node's. Folders below
// /tmp cannot be mounted, but are visible anyway.
ContainerPlan charliecloud(const Wanted& wanted, const ContainerFacts&) {
  ContainerPlan plan;
  plan.runtime = "charliecloud";
  plan.argv = {wanted.program, "--unset-env=*"};
  for (const Mount& mount : wanted.mounts) {
    if (mount.host == mount.target && is_below(mount.host, "/tmp")) continue;
    plan.argv.push_back("--bind=" + mount.host + ':' + mount.target);
  }
  plan.environment["TMPDIR"] = "/tmp";  // it would be mounted there instead
  return finished(std::move(plan), wanted, "--");
}

// enroot's documents: doc/cmd/start.md (--mount, --env, --rc), doc/image-format.md (x-create;
// /etc/rc, which runs the image's entry point, so ours replaces it), doc/standard-hooks.md (the
// variables of its hooks for GPUs and InfiniBand).
ContainerPlan enroot(const Wanted& wanted, const ContainerFacts& facts) {
  ContainerPlan plan;
  plan.runtime = "enroot";
  plan.argv = {wanted.program, "start", "--rc", wanted.rc};
  if (wanted.gpus) {
    plan.argv.insert(plan.argv.end(), {"--env=NVIDIA_VISIBLE_DEVICES=all",
                                       "--env=NVIDIA_DRIVER_CAPABILITIES=compute,utility"});
  }
  if (facts.infiniband) plan.argv.emplace_back("--env=MELLANOX_VISIBLE_DEVICES=all");
  for (const Mount& mount : wanted.mounts)
    plan.argv.push_back("--mount=" + mount.host + ':' + mount.target + ":none:x-create=auto,rbind" +
                        (mount.read_only ? ",ro" : ""));
  return finished(std::move(plan), wanted, "");
}

}  // namespace dlaunch::containers
