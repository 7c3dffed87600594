// What `dlaunch help` says about a topic other than a command: a key of the job file, an exit code,
// an option of another launcher, or a message. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

/// Type, default, meaning and an example of the key, and the keys below it if it is a section. Also
/// finds a key by the last part of its name ("backoff"), and by the name that another launcher has
/// for it. Empty: no such key.
[[nodiscard]] std::string key_help(std::string_view topic);

/// The meaning of a message that dlaunch or a program has printed, with advice. `text` may be a
/// part of the message, or the name of a failure. Empty: the message is not known.
[[nodiscard]] std::string message_help(std::string_view text);

/// The equivalent in dlaunch of another launcher's option ("--bind-to"); empty: not known.
[[nodiscard]] std::string option_help(std::string_view option);

/// The names of all topics: keys, sections and failures.
[[nodiscard]] std::vector<std::string_view> topic_names();

}  // namespace dlaunch
