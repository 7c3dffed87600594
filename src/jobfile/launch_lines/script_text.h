// The text of a shell script without what is not part of its commands.
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

/// A script with blanks for its comments and here-documents, and with a variable, a stand-in, for
/// each substitution, "$(pwd)". A here-document's "<<END" reads as "<.".
struct ScriptText {
  std::string text;
  std::vector<std::string> substitutions;  // in the order of their stand-ins
  std::optional<ScriptMistake> mistake;    // an open quote or group: `text` is not to be used
  /// Where the text after each replacement begins: its offset in `text`, and in the script.
  std::vector<std::pair<std::size_t, std::size_t>> offsets;

  /// The offset in the script for an offset in `text`.
  [[nodiscard]] std::size_t source_offset(std::size_t at) const;
};

/// Linear in the size of the script. Rules: XCU 2.2, 2.3, 2.6, 2.7.4; bash(1), QUOTING.
[[nodiscard]] ScriptText read_script_text(std::string_view script);

}  // namespace dlaunch::jobfile
