// The table of failures that a rank's last output or its exit status identifies: why they happen
// and what to try. known_causes.h asks it after the causes that depend on the run. Pure.
#pragma once

#include <span>
#include <string_view>

#include "model/exit_status.h"
#include "report/evidence.h"

namespace dlaunch {

/// A row fits if everything that it names is there: `pattern`, `also` and `ended`.
struct KnownFailure {
  std::string_view name;          // in summary.json; stable, words joined by "-"
  std::string_view pattern = {};  // a part of the exception or of a last line; empty: any
  std::string_view also = {};     // must occur in the exception or a last line, too; empty: nothing
  bool (*ended)(const ExitStatus&) = nullptr;  // how the rank must have ended; null: any way
  std::string_view why = {};                   // a sentence without its full stop
  std::string_view advice = {};                // what to type, at most 100 columns; empty: nothing
  bool of_node = false;          // something is missing on the node: other nodes may have it
  bool beats_peer_loss = false;  // the cause, even if the library reports it as a failed network
};

[[nodiscard]] std::span<const KnownFailure> known_failures();

/// The first row of the table that fits; nullptr: none. Patterns are searched for in the exception
/// and what the rank printed after it, or without an exception in its last 20 lines; not in lines
/// that libraries mark as information or warning. `status` null: rows with `ended` do not fit.
[[nodiscard]] const KnownFailure* find_known_failure(const Evidence& evidence,
                                                     const ExitStatus* status);

}  // namespace dlaunch
