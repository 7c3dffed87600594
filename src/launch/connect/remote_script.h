// The commands for a node's login shell. Pure.
//
// ssh passes its command to the account's login shell, whichever that is. So the command is one
// word that means the same to sh, dash, bash, zsh, fish, tcsh and busybox: exec /bin/sh -c '...',
// with none of ' ! \ newline inside. The rest is for a POSIX /bin/sh (XCU 2) whose `test` has -O.
//
// On a node, the binary lies in the first usable one of kFolders, in a folder for its build id.
// Only files that belong to us run from there: our folders are 0700 and not links. The script
// writes a new file beside its final path, runs it once (`dlaunch agent --probe`, which also syncs
// it to disk), and renames it; so several launchers may do this at once, and a file in place is
// complete. A binary that is damaged nevertheless says so itself (node/session/staged_binary.h) or
// ends without a message. In both cases no "ready" follows "started", and the launcher stages the
// binary again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "launch/connect/connector.h"

namespace dlaunch {

/// The launcher waits for this in the output of a node. It is followed by the session as 16 digits,
/// a blank, and one of the words of channel_opening.h. No command text contains the marker.
inline constexpr const char* kMarker = "@dlaunch:";

/// The folders to try, as a user would write them.
inline constexpr const char* kFolders[] = {"~/.cache/dlaunch", "/var/tmp/dlaunch-UID",
                                           "/tmp/dlaunch-UID", "/dev/shm/dlaunch-UID"};
inline constexpr std::size_t kFolderCount = 4;

/// The binary is sent in parts of this many bytes, each after the node has printed "more".
/// Otherwise sshd would hold up to 2 MiB that it has not passed on yet, and copy all of that for
/// each packet that arrives (sshbuf_allocate of OpenSSH): on a busy node that takes more time than
/// anything else. Each part costs a head(1), a millisecond: parts of half this size and of twice
/// this size took longer.
inline constexpr std::uint64_t kUploadPart = 1024 * 1024;

struct RemoteAgent {
  std::string build_id;    // hex digits or "unknown"
  std::uint64_t size = 0;  // of the binary, in bytes
  std::uint64_t session = 0;
  std::uint32_t node = 0;
  Purpose purpose = Purpose::fresh;
  bool pid_namespace = false;
  std::uint64_t after = 0;  // the lost session whose end a fresh agent waits for; 0: none
};

/// Prints "started" and executes the agent, which prints "ready"; or prints "missing ARCHITECTURE"
/// and waits for a stage_line() on stdin, or the end of stdin. `anew`: does not look for an
/// existing binary. Prints "failed" with the reason if its stdin is not the connection.
[[nodiscard]] std::string agent_script(const RemoteAgent& agent, bool anew = false);

/// The launcher's answer to "missing", with its newline: stores the next `size` bytes of stdin, a
/// binary of this build, in kFolders[folder] and executes the agent there as agent_script() does,
/// or prints "failed" with the reason. Prints "more" after each part but the last one; the next
/// part must not be sent before that, because head(1) of busybox reads ahead. An existing file with
/// the same content stays: others may be running it.
[[nodiscard]] std::string stage_line(const RemoteAgent& agent, std::size_t folder);

/// Another answer to "missing": the next `fetcher` bytes of stdin are dlaunch-fetch, which gets the
/// binary from another node as `order` says (node/fetch/fetch_order.h), into kFolders[0]. The shell
/// then goes on as after a stage_line(), or prints "unfetched REASON" and waits for a stage_line().
/// If the binary has appeared there meanwhile, as in a shared home folder, it is used. Only after
/// an agent_script() that looks for an existing binary.
[[nodiscard]] std::string fetch_line(const RemoteAgent& agent, std::size_t fetcher,
                                     const std::string& order);

/// 16 hex digits, as sessions are written on command lines.
[[nodiscard]] std::string session_text(std::uint64_t session);

}  // namespace dlaunch
