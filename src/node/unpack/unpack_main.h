// `dlaunch agent --unpack`: the process in which an agent has an archive unpacked
// (node/unpack/unpacker.h). libarchive's calls block and its input is untrusted, so it runs apart
// from the agent's loop and memory.
//
// It gets the archive as descriptor 0, an eventfd as kArrivedFd (ArrivingFile), and the order as
// variables, because a command line is visible to all users. It writes to its stdout: a kUnpackSign
// now and then, and at the end kUnpacked and the number of members left out, or kNotUnpacked and
// the reason.
#pragma once

namespace dlaunch {

inline constexpr int kArrivedFd = 3;
inline constexpr const char* kUnpackFolder = "DLAUNCH_UNPACK_FOLDER";  // holds the target
inline constexpr const char* kUnpackName = "DLAUNCH_UNPACK_NAME";      // of the target
inline constexpr const char* kUnpackSize = "DLAUNCH_UNPACK_SIZE";      // of the archive, bytes
inline constexpr const char* kUnpackTime = "DLAUNCH_UNPACK_TIME";      // its mtime, nanoseconds

inline constexpr char kUnpackSign = '.';
inline constexpr char kUnpacked = '=';
inline constexpr char kNotUnpacked = '!';

/// Returns the exit code.
int unpack_main();

}  // namespace dlaunch
