// Recognises files of systems whose jobs dlaunch does not run, so that an error can say what
// to type instead.
#pragma once

#include <string_view>

#include "spec/document.h"

namespace dlaunch::spec {

/// A sentence, without a full stop, about a batch script, such as one for sbatch; empty: it is not
/// one.
[[nodiscard]] std::string_view kind_of_script(std::string_view text);

/// The same about the document of a file that no dialect claims; empty: not known.
[[nodiscard]] std::string_view kind_of_file(const Document& document, NodeId root);

}  // namespace dlaunch::spec
