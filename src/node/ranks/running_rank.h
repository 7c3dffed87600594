// What the agent knows about the ranks that it starts.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

#include "node/external_process.h"
#include "node/ranks/carried_environment.h"
#include "node/ranks/environment_block.h"
#include "os/event_loop.h"
#include "os/spawn.h"
#include "os/terminal.h"
#include "wire/message.h"

namespace dlaunch {

/// What the ranks of one StartRanks share, prepared once.
struct RankBatch {
  explicit RankBatch(wire::StartRanks r)
      : request(std::move(r)),
        base(carried_environment(environment_from_block(environ), request.carried, request.workdir,
                                 folder_exists),
             request.scrub, request.defaults, request.env),
        contained_base({}, {}, {}, request.env) {}

  const Program& program(std::uint32_t command, const std::string& search_path) {
    const auto key = std::pair{command, search_path};
    auto found = programs.find(key);
    if (found == programs.end()) {
      const std::string& name = request.commands[command].argv.front();
      found = programs.emplace(key, find_program(name, search_path, request.workdir)).first;
    }
    return found->second;
  }

  [[nodiscard]] const wire::StartContainer* container(const wire::StartRank& rank) const {
    const bool has_one = rank.container > 0 && rank.container <= request.containers.size();
    return has_one ? &request.containers[rank.container - 1] : nullptr;
  }

  wire::StartRanks request;
  EnvironmentBase base;
  EnvironmentBase contained_base;  // set on top of an image's environment
  std::map<std::pair<std::uint32_t, std::string>, Program> programs;
};

struct RunningRank {
  Rank rank;
  pid_t leader = 0;
  pid_t outer_pid = 0;                             // in the node's PID namespace
  const std::vector<std::string>* command = nullptr;
  const std::vector<std::string>* argv = nullptr;  // `command` if that is our own shell, else null
  std::shared_ptr<RankBatch> batch;                // owns `command` and `argv`
  bool wants_stdin = false;
  bool exited = false;
  bool left = false;       // its proxy has ended, so the rank may be about to end
  bool signalled = false;  // by us, on the launcher's request, before it ended
  bool counted_over = false;
  std::unique_ptr<Timer> abort_grace;
  // Children of dlaunch's own shell that were signalled with it: the rank is over only when they
  // have ended.
  std::map<pid_t, std::unique_ptr<WatchedFd>> companions;

  /// For a rank in a container, whose leader is the runtime's process.
  struct Contained {
    enum class State { starting, running, failed };
    State state = State::starting;
    std::uint32_t container = 0;
    bool runtime_ended = false;
    bool inside = false;  // the entry process is connected
    std::unique_ptr<ExternalProcess> runtime;
    std::string said;       // the end of what the runtime has printed
    UniqueFd in, out, err;  // our ends of its streams, until the program runs
    bool is_shown = true;
    std::unique_ptr<Timer> silence;  // for the first rank of an image, while it starts
  };
  std::unique_ptr<Contained> contained;

  [[nodiscard]] bool over() const {
    return exited && companions.empty() &&
           (!contained || (contained->runtime_ended && !contained->inside));
  }
};

/// The streams of one rank; `in` only if it reads the job's stdin.
struct RankPipes {
  Pipe in;
  Pipe out;
  Pipe err;
};

/// All three are one terminal; nothing comes from `err`. The terminal does not echo, because the
/// user's own terminal does, and leaves line ends as they are, for the rank's file.
inline tl::expected<RankPipes, StartFailure> make_rank_terminal() {
  constexpr TerminalSize kSize{80, 24};
  auto made = open_pseudo_terminal(kSize);
  auto nothing = make_pipe();
  if (!made || !nothing) {
    return tl::unexpected(StartFailure{StartFailure::Step::resources,
                                       made ? nothing.error() : made.error(), "a terminal", ""});
  }
  make_quiet(made->slave.get());
  RankPipes streams;
  streams.in = {duplicate(made->slave.get()), duplicate(made->master.get())};
  streams.out = {std::move(made->master), duplicate(made->slave.get())};
  streams.err = {std::move(nothing->read), std::move(made->slave)};
  return streams;
}

inline tl::expected<RankPipes, StartFailure> make_pipes(bool with_stdin) {
  RankPipes pipes;
  for (Pipe* pipe : {&pipes.out, &pipes.err, &pipes.in}) {
    if (pipe == &pipes.in && !with_stdin) continue;
    auto made = make_pipe();
    if (!made)
      return tl::unexpected(StartFailure{StartFailure::Step::resources, made.error(), "pipe", ""});
    *pipe = std::move(*made);
  }
  return pipes;
}

}  // namespace dlaunch
