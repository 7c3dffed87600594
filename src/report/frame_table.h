// What a thread waits for, from the names of known functions in its stack. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/stacks.h"

namespace dlaunch {

/// What a thread in a known function waits for.
enum class Wait : std::uint8_t {
  collective,  // all ranks of a group must arrive
  peer,        // another rank must send or receive
  start,       // all ranks must have started
  step,        // a collective inside the step, or this rank's own computation
  device,      // this rank's GPU, on which a collective may run
  loader,      // this rank's own processes that load data
  children,    // any process that this one has started
};

/// One known function. tests/unit/stacks/frame_table_test.cc has a stack for each.
struct KnownFrame {
  StackFrame::Kind kind = StackFrame::Kind::python;
  /// For Python, the part after the last '.'; for native code, without the "P" of MPI's profiling
  /// interface and without parameters. '*' stands for any characters.
  std::string_view function;
  std::string_view file;  // a part of the file's path; empty: any file
  Wait wait = Wait::collective;
  std::string_view library;  // "torch.distributed"
};

[[nodiscard]] std::span<const KnownFrame> known_frames();

struct KnownWait {
  const KnownFrame* row = nullptr;  // of known_frames()
  std::string operation;            // "all_reduce"
  std::size_t depth = 0;            // index of its frame, 0: the innermost
};

/// The wait of the outermost known frame that was called from the user's code, so that it names a
/// collective and not the wait inside the collective. `frames`: innermost first.
[[nodiscard]] std::optional<KnownWait> known_wait(const std::vector<StackFrame>& frames);

/// "all_reduce of torch.distributed, for the other ranks"; empty: no wait is known.
[[nodiscard]] std::string waits_for(const std::vector<StackFrame>& frames);

/// The innermost frame of the user's own code, from `depth` outward: Python code outside installed
/// packages and the standard library; else native code outside shared objects. Null: there is none.
[[nodiscard]] const StackFrame* user_frame(const std::vector<StackFrame>& frames,
                                           std::size_t depth = 0);

}  // namespace dlaunch
