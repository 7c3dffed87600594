#include "os/leader.h"

#include <csignal>

#include "os/containment.h"
#include "os/proc_file.h"

namespace dlaunch {

bool runs_command(pid_t pid, const std::vector<std::string>& argv) {
  std::string expected;
  for (const std::string& argument : argv) expected.append(argument).push_back('\0');
  // One byte more than expected: a longer command line is another command.
  const std::string file = "/proc/" + std::to_string(pid) + "/cmdline";
  return read_proc_file(file, expected.size() + 1) == expected;
}

void kill_tree(pid_t root) {
  for (const pid_t child : children_of(root)) kill_tree(child);
  ::kill(root, SIGKILL);
}

}  // namespace dlaunch
