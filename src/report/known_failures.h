// The table of failures that a rank's last output or its exit status identifies: why they happen
// and what to try. known_causes.h searches it after the causes that depend on the run. Pure.
#pragma once

#include <span>
#include <string_view>

#include "model/exit_status.h"
#include "report/evidence.h"

namespace dlaunch {

/// A row fits if `pattern`, `also` and `ended` all match.
struct KnownFailure {
  std::string_view name;          // in summary.json; stable, words joined by "-"
  std::string_view pattern = {};  // a part of the exception or of a last line; empty: any
  std::string_view also = {};     // must also occur in the exception or a last line; empty: nothing
  bool (*ended)(const ExitStatus&) = nullptr;  // how the rank must have ended; null: any way
  std::string_view why = {};                   // a sentence without its full stop
  std::string_view advice = {};                // what to type or change, at most 100 columns
  bool of_node = false;          // something is missing on the node that other nodes may have
  bool beats_peer_loss = false;  // it is the cause even if the library reports a failed network
};

[[nodiscard]] std::span<const KnownFailure> known_failures();

/// The first row of the table that fits; nullptr: none. Searches for patterns in the exception and
/// in what the rank printed after it or, if there is no exception, in its last 20 lines. Ignores
/// lines that libraries mark as information or as a warning. `status` null: rows with `ended` do
/// not fit.
[[nodiscard]] const KnownFailure* find_known_failure(const Evidence& evidence,
                                                     const ExitStatus* status);

}  // namespace dlaunch
