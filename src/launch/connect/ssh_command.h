// The command line that reaches a node. Pure: words in, words out, and nothing is ever quoted here
// but by execve(2) itself.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

struct SshRequest {
  std::string remote_command;              // one word, see remote_script.h
  std::chrono::seconds connect_timeout{};  // 0: ssh's own
  bool may_ask = false;                    // somebody can answer a prompt; else BatchMode
  int step_gpus = 0;                       // see srun_words()
  bool old_ssh = false;                    // of before OpenSSH 8.7: it lacks some options
};

/// argv of srun with via: slurm (see srun.h), of connect.command where there is one (and via is not
/// ssh), else of ssh, for one host, whose user and port are already those to use.
///
/// ssh (`connect.ssh`, split at blanks) gets only what the job says, and options against what the
/// user's ssh_config may hold that would disturb a channel: see the tables in ssh_command.cc. All
/// else of that file counts. The host stands behind `--`.
///
/// A template gets its {host}, {user} and {port} anywhere in a word; {command} is replaced by the
/// remote command, which is else appended as the last word. {port} is 22 where there is none. Error
/// (kJobFile): {user} without a user.
[[nodiscard]] Result<std::vector<std::string>> connect_command(const Connect& connect,
                                                               const HostSpec& host,
                                                               const SshRequest& request);

/// Its name, for messages.
[[nodiscard]] std::string program_of(const Connect& connect);

/// A command line that a person may type to try the connection: "ssh -p 2222 -- gpu12 echo hello".
/// Empty with via: slurm.
[[nodiscard]] std::string line_by_hand(const Connect& connect, const HostSpec& host);

/// Whether ssh has refused, in these words on its stderr, an option that OpenSSH before 8.7 lacks
/// (SshRequest::old_ssh).
[[nodiscard]] bool is_too_new_an_option(const std::string& errors);

}  // namespace dlaunch
