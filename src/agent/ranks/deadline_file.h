// The file DLAUNCH_DEADLINE_FILE of the ranks.
#pragma once

#include "wire/message.h"

namespace dlaunch {

/// The time as seconds since the epoch and a newline, in place of an earlier one; whoever reads the
/// file finds it whole. What cannot be written is not there: ranks are signalled all the same.
void write_deadline(const wire::Deadline& deadline);

}  // namespace dlaunch
