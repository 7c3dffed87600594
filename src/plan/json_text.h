// JSON text (RFC 8259) written directly: a plan of a thousand ranks is printed without building a
// tree first.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch {

/// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD, each by
/// itself.
void append_json_string(std::string& out, std::string_view text);

}  // namespace dlaunch
