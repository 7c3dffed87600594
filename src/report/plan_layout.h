// Lines of `dlaunch plan`: a label, a value, a note in a column of its own. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

inline constexpr std::size_t kWidth = 80;
inline constexpr std::size_t kLabel = 15;   // of the sections below the table
inline constexpr std::size_t kNoteAt = 48;  // the column of notes, unless the text before is longer

/// The user's text on one line of at most `width` columns; a line break in it is shown as \n.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

/// LABEL value note; the note is in its column, or on a line of its own if it does not fit.
void add_line(std::string& out, std::string_view label, std::size_t label_width,
              const std::string& value, std::string_view note);

/// Words after a label, wrapped.
void add_words(std::string& out, std::string_view label, const std::vector<std::string>& words);

}  // namespace dlaunch
