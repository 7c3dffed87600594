// hosts, hostfile or hosts: auto of a job -> the list of single hosts that it starts on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/environment.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// What the list is made from besides the job. Files are read by the caller, so that this stays a
/// function of values.
struct HostInput {
  Environment environment;  // of the launcher, for hosts: auto and Slurm
  /// The content of a file; an error that says why not.
  std::function<Result<std::string>(const std::string& path)> read_file;
  /// DeepSpeed's NODE[@NODE...], where a NODE may be a range: only these hosts, or all but these.
  /// Empty: not given; not both.
  std::string include;
  std::string exclude;
};

struct ResolvedHosts {
  /// Single names, each once, in order; slots 0: not given. Empty: this machine only.
  std::vector<HostSpec> hosts;
  std::string origin;              // "hosts", "hostfile hosts.txt", "PBS_NODEFILE"
  std::vector<std::string> notes;  // what is read over, for the user to know
  bool in_slurm = false;           // of the Slurm allocation that dlaunch was started in
};

/// A job that names no hosts gets those of the Slurm allocation that it is started in, unless
/// connect.via says that none of it is meant (local, ssh or a command).
///
/// Expands, reads and filters the hosts of the job, and takes as many as it wants: the first
/// `nodes` with the spares, or those that `processes` fill. Pure but for `read_file`; thread-safe
/// as far as that is. Errors (exit_code::kJobFile): no scheduler, a file that cannot be read or
/// understood, a host named twice, include or exclude of a host that is not there, more nodes or
/// ranks than the hosts have room for, placeholders of connect.command without a value.
[[nodiscard]] Result<ResolvedHosts> resolve_hosts(const JobSpec& job, const HostInput& input);

namespace spec {

/// One item of `hosts` as its single hosts: "gpu[01-02]:8" is two with eight slots each; its other
/// members are those of the item. Error: the problem, in words that follow "hosts[0]: ".
[[nodiscard]] tl::expected<std::vector<HostSpec>, std::string> expand_host(const HostSpec& item);

}  // namespace spec

}  // namespace dlaunch
