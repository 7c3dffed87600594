// Where ranks are in their programs, for people and for programs. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "model/stacks.h"
#include "text/wrap.h"

namespace dlaunch {

/// The merged tree: frames that ranks share appear once, outermost first. Lines have at most
/// `columns` columns; they are ASCII except for texts from the ranks.
[[nodiscard]] std::string stacks_text(const StacksReply& reply,
                                      std::size_t columns = kScreenColumns);

/// One object with `version`, `attempt`, `ranks` (all that is known about each) and `silent`;
/// docs/reference/run-folder.md has the members.
[[nodiscard]] std::string stacks_json(const StacksReply& reply);

}  // namespace dlaunch
