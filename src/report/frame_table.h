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

/// What the wait of a known function depends on.
enum class Wait : std::uint8_t {
  collective,  // all ranks of a group must come
  peer,        // another rank must send or receive
  start,       // all ranks must have started
  step,        // a collective inside the step, unless this rank still computes
  device,      // this rank's GPU, on which a collective may run
  loader,      // this rank's processes that load data
  children,    // any process that this one has started
};

/// One known function. tests/unit/stacks/frame_table_test.cc has a stack for each row.
struct KnownFrame {
  StackFrame::Kind kind = StackFrame::Kind::python;
  /// Python: after the last '.'; native: without a P of MPI's profiling interface and without
  /// parameters. '*' stands for any characters.
  std::string_view function;
  std::string_view file;  // a part of the path of its file; empty: any file
  Wait wait = Wait::collective;
  std::string_view library;  // "torch.distributed"
};

[[nodiscard]] std::span<const KnownFrame> known_frames();

struct KnownWait {
  const KnownFrame* row = nullptr;  // of known_frames()
  std::string operation;            // "all_reduce"
  std::size_t depth = 0;            // index of its frame, 0: the innermost
};

/// The wait of the outermost known frame that the user's code has called, so that a collective is
/// named and not the wait inside it.
/// `frames`: innermost first.
[[nodiscard]] std::optional<KnownWait> known_wait(const std::vector<StackFrame>& frames);

/// "all_reduce of torch.distributed, for the other ranks"; empty: none is known.
[[nodiscard]] std::string waits_for(const std::vector<StackFrame>& frames);

/// The innermost frame of the user's own code, from `depth` outward: Python outside of installed
/// packages and of the standard library; else code outside of shared objects. Null: there is none.
[[nodiscard]] const StackFrame* user_frame(const std::vector<StackFrame>& frames,
                                           std::size_t depth = 0);

}  // namespace dlaunch
