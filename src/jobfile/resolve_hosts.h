// Resolves `hosts`, `hostfile` or `hosts: auto` of a job to the hosts on which it starts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/environment.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// Inputs besides the job. The caller reads files, so that this stays a pure function.
struct HostInput {
  Environment environment;  // of the launcher, for hosts: auto and Slurm
  /// Returns the content of a file, or an error that explains the failure.
  std::function<Result<std::string>(const std::string& path)> read_file;
  /// DeepSpeed's NODE[@NODE...], where a NODE may be a range: only these hosts, or all except
  /// these. Empty: not given. At most one of the two is given.
  std::string include;
  std::string exclude;
};

struct ResolvedHosts {
  /// Individual names, each once, in order; slots 0: not given. Empty: this machine only.
  std::vector<HostSpec> hosts;
  std::string origin;              // "hosts", "hostfile hosts.txt", "PBS_NODEFILE"
  std::vector<std::string> notes;  // ignored settings, for the user
  bool in_slurm = false;           // the hosts are those of dlaunch's own Slurm allocation
};

/// A job without hosts that starts inside a Slurm allocation gets the hosts of the allocation,
/// unless connect.via is local, ssh or a command.
///
/// Expands, reads and filters the hosts of the job and takes as many as needed: the first `nodes`
/// plus the spares, or those that `processes` fill. Pure except for `read_file`, and thread-safe if
/// `read_file` is. Errors (exit_code::kJobFile): no scheduler, an unreadable or invalid file, a
/// repeated host, include or exclude of an unknown host, more nodes or ranks than the hosts offer,
/// placeholders of connect.command without a value.
[[nodiscard]] Result<ResolvedHosts> resolve_hosts(const JobSpec& job, const HostInput& input);

namespace jobfile {

/// Expands one item of `hosts`: "gpu[01-02]:8" is two hosts with eight slots each; the other
/// members are copied. Error: the problem, phrased to follow "hosts[0]: ".
[[nodiscard]] tl::expected<std::vector<HostSpec>, std::string> expand_host(const HostSpec& item);

}  // namespace jobfile

}  // namespace dlaunch
