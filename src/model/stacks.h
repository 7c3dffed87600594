// Where the threads of ranks are in their code at one moment. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ids.h"

namespace dlaunch {

/// Limits of one node's answer (node/stacks/take_stacks.h).
inline constexpr std::size_t kMostStackFrames = 128;     // of a thread, the innermost ones
inline constexpr std::size_t kMostStackText = 256;       // bytes of a name or a path
inline constexpr std::size_t kMostStackThreads = 256;    // of a process
inline constexpr std::size_t kMostStackProcesses = 128;  // of a rank
inline constexpr std::size_t kMostStackPeers = 64;       // RankStacks::unanswered

struct StackFrame {
  enum class Kind : std::uint8_t { python, kernel, native };
  Kind kind = Kind::python;
  std::string function;    // as its language writes it; empty: unknown
  std::string file;        // the source file; native code without line information: the object file
  std::uint32_t line = 0;  // 0: unknown
  bool operator==(const StackFrame&) const = default;
};

struct ThreadStack {
  std::int32_t id = 0;  // of the first of `count` threads, on the node; 0: unknown
  std::string name;     // empty: it is the main thread, or it has no name
  std::string state;    // letter of proc(5); empty: unknown
  /// The system call that it waits in: "reading /mnt/nfs/x"; empty: none, or unknown.
  std::string doing;
  std::vector<StackFrame> frames;  // innermost first; empty: unknown
  std::uint32_t count = 1;         // equal threads of the process: they differ only in their id
  bool operator==(const ThreadStack&) const = default;
};

struct ProcessStack {
  std::int32_t pid = 0;     // on the node
  std::int32_t parent = 0;  // a pid in the same list; that of the first process: outside the rank
  std::string command;      // arguments joined by blanks, truncated
  std::vector<ThreadStack> threads;  // the main thread first
  // Totals since its start; two snapshots show whether it has worked in between.
  std::uint64_t cpu_ms = 0;
  std::uint64_t io_bytes = 0;  // as RankPulse::io_bytes
  std::uint64_t switches = 0;
  std::uint64_t waited_ms = 0;  // how long its threads waited for a CPU
  bool operator==(const ProcessStack&) const = default;
};

/// The stacks of a rank and everything below it. No processes: it has ended, or was not started.
struct RankStacks {
  Rank rank;
  std::string host;                     // the user's name for the node; an agent leaves it empty
  std::vector<ProcessStack> processes;  // the rank's own first, parents before children
  std::vector<std::string> remarks;     // why something is missing, one sentence each
  bool lacks_py_spy = false;            // its node has no py-spy, so Python frames are missing
  std::vector<std::string> unanswered;  // addresses of peers that do not answer over the network
  bool operator==(const RankStacks&) const = default;
};

/// What `dlaunch stacks` asks the engine of a run for.
struct StacksQuestion {
  std::string build_id;  // must equal the engine's
  std::string ranks;     // "0,2-5"; empty: all
  std::string path;      // PATH of the asking process, which is also searched for py-spy
  bool native = false;  // frames of C, C++ and Fortran too; taking them stops threads for
                        // milliseconds
  bool operator==(const StacksQuestion&) const = default;
};

struct StacksReply {
  std::uint32_t attempt = 0;
  std::uint32_t world = 0;          // ranks of the attempt
  std::vector<RankStacks> ranks;    // ascending, each once
  std::vector<std::string> silent;  // nodes without an answer, each with the reason
  bool operator==(const StacksReply&) const = default;
};

}  // namespace dlaunch
