// The text of a shell script, reduced to its commands.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlaunch::jobfile {

/// Why a script, or its launch line, cannot be read; `offset`: where in the script, bytes.
struct ScriptMistake {
  std::size_t offset = 0;
  std::string text;
};

/// A script in which blanks replace comments and here-documents, and a variable replaces each
/// substitution, "$(pwd)", as its stand-in. "<<END" of a here-document becomes "<.".
struct ScriptText {
  std::string text;
  std::vector<std::string> substitutions;  // in the order of their stand-ins
  std::optional<ScriptMistake> mistake;    // an unclosed quote or group: do not use `text`
  /// For each replacement, the offset after it in `text` and in the script.
  std::vector<std::pair<std::size_t, std::size_t>> offsets;

  /// The offset in the script for an offset in `text`.
  [[nodiscard]] std::size_t source_offset(std::size_t at) const;
};

/// Linear in the size of the script. Rules: XCU 2.2, 2.3, 2.6, 2.7.4; bash(1), QUOTING.
[[nodiscard]] ScriptText read_script_text(std::string_view script);

}  // namespace dlaunch::jobfile
