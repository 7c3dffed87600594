// Recognises files of systems that dlaunch cannot run, so that an error can suggest the command to
// type instead.
#pragma once

#include <string_view>

#include "jobfile/document.h"

namespace dlaunch::jobfile {

/// A sentence (no full stop) about a batch script of Slurm or another system, which must not be
/// run as a program; empty: not a batch script.
[[nodiscard]] std::string_view kind_of_script(std::string_view text);

/// Whether the text is a batch script of Slurm, which dlaunch reads.
[[nodiscard]] bool is_slurm_script(std::string_view text);

/// Like kind_of_script(), for a document that no dialect recognises; empty: unknown.
[[nodiscard]] std::string_view kind_of_file(const Document& document, NodeId root);

}  // namespace dlaunch::jobfile
