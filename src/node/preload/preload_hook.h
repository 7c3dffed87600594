// The Python side of `preload`: what a rank's interpreter executes before the program, and what the
// template, from which ranks are forked, executes. The reasons are in
// docs/decisions/016-ranks-forked-from-a-template.md.
#pragma once

#include <string>

namespace dlaunch {

/// A zip archive (stored, not compressed) for PYTHONPATH. Its `sitecustomize` connects to the
/// abstract socket named by kPreloadVariable and follows the orders that it gets there; without
/// that variable it does nothing. Either way it removes what started it: the variable, its entries
/// in PYTHONPATH and sys.path, its module.
[[nodiscard]] std::string preload_archive();

/// NAME:PATH: the socket and the archive.
inline constexpr const char* kPreloadVariable = "DLAUNCH_PRELOAD";

}  // namespace dlaunch
