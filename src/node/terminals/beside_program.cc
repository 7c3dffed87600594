#include "node/terminals/beside_program.h"

#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "node/ranks/environment_block.h"
#include "os/containment.h"
#include "os/cpu_mask.h"
#include "os/job_tree.h"
#include "os/spawn.h"

namespace dlaunch {

std::vector<std::string> with_pid(std::vector<std::string> argv, pid_t pid) {
  constexpr std::string_view kPlace = "{pid}";
  const std::string number = std::to_string(pid);
  for (std::string& word : argv) {
    for (auto at = word.find(kPlace); at != std::string::npos; at = word.find(kPlace, at))
      word.replace(at, kPlace.size(), number);
  }
  return argv;
}

pid_t process_of_rank(pid_t leader, const std::vector<std::string>* own_shell) {
  const bool is_shell = own_shell != nullptr && runs_command(leader, *own_shell);
  const auto children = is_shell ? children_of(leader) : std::vector<pid_t>();
  return children.size() == 1 ? children.front() : leader;
}

tl::expected<BesideTerminal, StartFailure> make_beside_terminal(TerminalSize size) {
  const auto fail_with = [](int error) {
    return tl::unexpected(StartFailure{StartFailure::Step::resources, error, "a terminal", ""});
  };
  auto made = open_pseudo_terminal(size);
  if (!made) return fail_with(made.error());
  BesideStreams streams{duplicate(made->slave.get()), duplicate(made->slave.get()),
                        std::move(made->slave)};
  if (!streams.in || !streams.out) return fail_with(EMFILE);
  return BesideTerminal{std::move(made->master), std::move(streams)};
}

tl::expected<pid_t, StartFailure> start_beside(const wire::OpenTerminal& request,
                                               const RankPlace& place,
                                               const BesideStreams& streams) {
  const EnvironmentBase base(place.variables, {}, {}, {});
  const EnvironmentBlock environment(base, request.env);
  const std::vector<std::string> words = with_pid(request.argv, place.pid);
  const Program program = find_program(words.front(), environment.search_path(), place.workdir);
  const std::vector<const char*> argv = argv_pointers(words);
  const rlimit open_files{place.open_files.soft, place.open_files.hard};
  CpuMask cpus(place.cpus);
  SpawnRequest spawning;
  spawning.program = &program;
  spawning.argv = argv.data();
  spawning.envp = environment.pointers();
  spawning.workdir = place.workdir.c_str();
  spawning.stdin_fd = streams.in.get();
  spawning.stdout_fd = streams.out.get();
  spawning.stderr_fd = streams.err.get();
  spawning.cpus = cpus.set();
  spawning.cpus_size = cpus.size();
  spawning.open_files = &open_files;
  spawning.cgroup = place.cgroup;
  spawning.new_session = true;
  spawning.own_terminal = request.is_terminal;
  const auto spawned = spawn(spawning);
  if (!spawned) return tl::unexpected(spawned.error());
  return spawned->pid;
}

std::vector<pid_t> members_of(const std::set<pid_t>& sessions) {
  std::vector<pid_t> found = descendants();
  std::erase_if(found, [&](pid_t pid) { return !sessions.contains(::getsid(pid)); });
  return found;
}

void signal_each(const std::vector<pid_t>& processes, int number) {
  for (const pid_t pid : processes) {
    ::kill(pid, number);
    ::kill(pid, SIGCONT);  // a stopped process handles no other signal
  }
}

}  // namespace dlaunch
