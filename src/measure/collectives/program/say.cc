#include "measure/collectives/program/say.h"

#include <unistd.h>

namespace dlaunch::collectives {

void say(const std::string& line) {
  const std::string text = "dlaunch collectives: " + line + '\n';
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace dlaunch::collectives
