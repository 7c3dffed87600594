// Lines of `dlaunch plan`: a label, a value, and a note in its own column. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

inline constexpr std::size_t kWidth = 80;
inline constexpr std::size_t kLabel = 15;   // of the sections below the table
inline constexpr std::size_t kNoteAt = 48;  // the column of notes, unless the text before is longer

/// A text from the user on one line of at most `width` columns; a line break in it becomes \n.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

/// Writes label, value and note; the note goes into its column, or onto a line of its own if it
/// does not fit.
void add_line(std::string& out, std::string_view label, std::size_t label_width,
              const std::string& value, std::string_view note);

/// Writes words after a label and wraps them.
void add_words(std::string& out, std::string_view label, const std::vector<std::string>& words);

}  // namespace dlaunch
