// The record of what stagings have unpacked into a folder of this node, in a file beside it
// (sync/unpack_rules.h), 0600: it says which archive a folder came from, and that it may be
// replaced.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "node/sync/sync_tree.h"
#include "sync/unpack_rules.h"

namespace dlaunch {

/// The identity of a folder, with size and time 0. nullopt, with errno: there is none, or it cannot
/// be read.
[[nodiscard]] std::optional<sync::Unpacked> identity_of_folder(SyncTree& tree,
                                                               const std::string& path);
/// For the folder `name`. Also empty if the file is damaged or another user's.
[[nodiscard]] std::vector<sync::Unpacked> load_unpack_record(SyncTree& tree,
                                                             const std::string& name);
/// Returns 0 or an errno.
[[nodiscard]] int save_unpack_record(SyncTree& tree, const std::string& name,
                                     const std::vector<sync::Unpacked>& record);

/// Why the content of an archive may not take the place of `name`; empty: `name` does not exist, is
/// an empty folder, or is in the record. The text follows the path: " is not empty ...".
[[nodiscard]] std::string why_not_replaced(SyncTree& tree, const std::string& name,
                                           const std::vector<sync::Unpacked>& record);

}  // namespace dlaunch
