// What the agent knows of ranks that it starts and has started.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "agent/carried_environment.h"
#include "agent/environment_block.h"
#include "os/event_loop.h"
#include "os/spawn.h"
#include "wire/message.h"

extern char** environ;

namespace dlaunch {

/// What the ranks of one StartRanks have in common, prepared once.
struct RankBatch {
  explicit RankBatch(wire::StartRanks r)
      : request(std::move(r)),
        base(carried_environment(environment_from_block(environ), request.carried, request.workdir,
                                 folder_exists),
             request.scrub, request.defaults, request.env) {}

  const Program& program(std::uint32_t command, const std::string& search_path) {
    const auto key = std::pair{command, search_path};
    auto found = programs.find(key);
    if (found == programs.end()) {
      const std::string& name = request.commands[command].argv.front();
      found = programs.emplace(key, find_program(name, search_path, request.workdir)).first;
    }
    return found->second;
  }

  wire::StartRanks request;
  EnvironmentBase base;
  std::map<std::pair<std::uint32_t, std::string>, Program> programs;
};

struct RunningRank {
  Rank rank;
  pid_t leader = 0;
  pid_t outer_pid = 0;                             // as the node numbers it
  const std::vector<std::string>* argv = nullptr;  // of our own shell; null for other commands
  std::shared_ptr<RankBatch> batch;                // holds argv
  bool wants_stdin = false;
  bool exited = false;
  bool left = false;       // what mpirun had started for it has been ended, so it may end of that
  bool signalled = false;  // by us, on the launcher's word, before it had ended
  bool counted_over = false;
  std::unique_ptr<Timer> abort_grace;
  // Direct children of our own shell that were signalled with it: the rank lasts as long as they
  // do.
  std::map<pid_t, std::unique_ptr<WatchedFd>> companions;

  [[nodiscard]] bool over() const { return exited && companions.empty(); }
};

/// The process and its descendants get SIGKILL.
void kill_tree(pid_t root);

}  // namespace dlaunch
