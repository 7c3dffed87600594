#include "plan/container_runtimes.h"

#include <string>
#include <string_view>

#include "text/strings.h"

namespace dlaunch::containers {

namespace {

// The limit that NVIDIA's containers need ("NVIDIA Deep Learning Frameworks User Guide", --ulimit
// stack=67108864), in bytes.
constexpr const char* kStack = "--ulimit=stack=67108864:67108864";
constexpr const char* kLockedMemory = "--ulimit=memlock=-1:-1";

/// Formats one value of a comma-separated list (RFC 4180, the syntax of --mount in both programs).
std::string csv(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

/// Not --volume: docker creates a root-owned folder for a missing source.
std::string mount_option(const Mount& mount) {
  return "--mount=type=bind," + csv("source=" + mount.host) + ',' + csv("target=" + mount.target) +
         (mount.read_only ? ",readonly" : "");
}

std::string limit(std::string_view name, std::uint64_t hard) {
  const std::string number = hard == ResourceLimits::kUnlimited ? "-1" : std::to_string(hard);
  return "--ulimit=" + std::string(name) + '=' + number + ':' + number;
}

/// The options that podman-run(1) and docker-run(1) have in common, and the `particular` ones.
ContainerPlan call(const Wanted& wanted, const ContainerFacts& facts,
                   const std::vector<std::string>& particular) {
  ContainerPlan plan;
  plan.image = wanted.image;
  plan.name = wanted.name;
  auto& argv = plan.argv;
  argv = {wanted.program, "run", "--rm", "--name=" + wanted.name};
  plan.named = static_cast<std::uint32_t>(argv.size() - 1);
  argv.insert(argv.end(), {"--network=host", "--pid=host", "--uts=host"});
  if (wanted.own_shm == 0) {
    argv.emplace_back("--ipc=host");
  } else {
    argv.insert(argv.end(),
                {"--ipc=private", "--shm-size=" + std::to_string(wanted.own_shm) + 'b'});
  }
  // Output bypasses the engine, so the engine need not log it. Sockets shared with the agent lack
  // an SELinux label that containers may use.
  argv.insert(argv.end(), {"--log-driver=none", "--security-opt=label=disable"});
  argv.push_back("--user=" + std::to_string(facts.user) + ':' + std::to_string(facts.group));
  argv.insert(argv.end(), particular.begin(), particular.end());
  if (facts.infiniband) argv.emplace_back("--device=/dev/infiniband");
  for (const Mount& mount : wanted.mounts) argv.push_back(mount_option(mount));
  argv.insert(argv.end(), wanted.options.begin(), wanted.options.end());
  argv.push_back("--entrypoint=" + wanted.entry.front());
  argv.push_back(wanted.image);
  argv.insert(argv.end(), wanted.entry.begin() + 1, wanted.entry.end());
  return plan;
}

/// Completes the plan for a runtime without an engine, whose containers are ordinary child
/// processes with the node's network, process numbers, devices and user.
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

}  // namespace

ContainerPlan podman(const Wanted& wanted, const ContainerFacts& facts) {
  std::vector<std::string> own;
  // Without root, only this option maps container ids to our own.
  if (facts.user != 0) own.emplace_back("--userns=keep-id");
  if (facts.may_raise_limits) {
    own.insert(own.end(), {kLockedMemory, kStack});
  } else {
    // By default, Podman requests higher limits than permitted (containers.conf(5),
    // default_ulimits) and fails.
    own.insert(own.end(), {limit("nofile", facts.open_files), limit("nproc", facts.processes)});
  }
  // podman-run(1), --device: a name of the Container Device Interface.
  if (wanted.gpus) own.emplace_back("--device=nvidia.com/gpu=all");
  ContainerPlan plan = call(wanted, facts, own);
  plan.runtime = "podman";
  plan.cleanup = {wanted.program, "rm", "--force", "--volumes", "--ignore", "--time=0"};
  return plan;
}

ContainerPlan docker(const Wanted& wanted, const ContainerFacts& facts) {
  std::vector<std::string> own;
  // If root itself lacks CAP_SYS_RESOURCE, as in a container, so does a daemon of that container.
  if (facts.may_raise_limits || facts.user != 0) own = {kLockedMemory, kStack};
  // docker-run(1): --gpus uses the NVIDIA Container Toolkit; without the toolkit, --device names a
  // CDI device.
  if (wanted.gpus)
    own.emplace_back(facts.nvidia_toolkit ? "--gpus=all" : "--device=nvidia.com/gpu=all");
  ContainerPlan plan = call(wanted, facts, own);
  plan.runtime = "docker";
  plan.cleanup = {wanted.program, "rm", "--force", "--volumes"};
  return plan;
}

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
    if (mount.host == mount.target && is_in_folder(mount.host, "/tmp")) continue;
    plan.argv.push_back("--bind=" + mount.host + ':' + mount.target);
  }
  plan.environment["TMPDIR"] = "/tmp";  // any other TMPDIR would be mounted at /tmp instead
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
