#include "launch/connect/this_machine.h"

#include <cstdlib>

#include "os/own_machine.h"

namespace dlaunch {

OwnMachine this_machine() {
  OwnMachine own{own_hostname(), own_addresses(), ""};
  for (const char* name : {"USER", "LOGNAME"}) {
    if (const char* user = ::getenv(name); own.user.empty() && user != nullptr) own.user = user;
  }
  return own;
}

}  // namespace dlaunch
