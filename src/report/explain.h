// What `dlaunch help` says about a topic other than a command: a key of the job file, an exit code,
// an option of another launcher, or a message. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

/// Type, default, meaning and an example of the key, and the keys below it where it is a section.
/// Also by the last part of its name ("backoff"), and by the name that another launcher has for it;
/// empty: there is none.
[[nodiscard]] std::string key_help(std::string_view topic);

/// What a message means, as dlaunch or a program printed it, with advice; the text may be a part of
/// a message, or the name of a failure. Empty: it is not known.
[[nodiscard]] std::string message_help(std::string_view text);

/// What an option of another launcher ("--bind-to") becomes in dlaunch; empty: not known.
[[nodiscard]] std::string option_help(std::string_view option);

/// Names that topics may have: keys, sections and failures.
[[nodiscard]] std::vector<std::string_view> topic_names();

}  // namespace dlaunch
