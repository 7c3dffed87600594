#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "launch/connect/remote_script.h"
#include "launch/questions/own_py_spy.h"
#include "node/containers/container_entry.h"
#include "node/guardian.h"
#include "node/session/attach.h"
#include "node/session/session_socket.h"
#include "node/session/staged_binary.h"
#include "node/unpack/unpack_main.h"
#include "os/build_id.h"
#include "os/containment.h"
#include "os/write_all.h"
#include "text/number.h"

namespace dlaunch {

namespace {

// A launcher sends Hello as soon as it has read that we are ready.
constexpr std::uint32_t kHelloLimitMs = 60'000;

struct AgentWords {
  bool probe = false;
  bool attach = false;
  bool pid_namespace = false;
  std::optional<std::uint64_t> session;
  std::optional<std::uint64_t> after;
  std::optional<std::uint32_t> node;
  std::optional<std::string> build;  // the build that the launcher staged, if it did
  std::optional<std::uint64_t> size;
};

template <class Number>
bool read_number(const std::string& text, int base, std::optional<Number>& number) {
  const auto value = number_of<Number>(text, base);
  if (value) number = value;
  return value.has_value();
}

std::optional<AgentWords> read_words(const std::vector<std::string>& words) {
  AgentWords read;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--probe") {
      read.probe = true;
    } else if (words[i] == "--pid-namespace") {
      read.pid_namespace = true;
    } else if ((words[i] == "--session" || words[i] == "--attach") && has_value) {
      read.attach = words[i] == "--attach";
      if (!read_number(words[++i], 16, read.session)) return std::nullopt;
    } else if (words[i] == "--after" && has_value) {
      if (!read_number(words[++i], 16, read.after)) return std::nullopt;
    } else if (words[i] == "--build" && has_value) {
      read.build = words[++i];
    } else if (words[i] == "--size" && has_value) {
      if (!read_number(words[++i], 10, read.size)) return std::nullopt;
    } else if (words[i] == "--node" && has_value) {
      if (!read_number(words[++i], 10, read.node)) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  if (!read.probe && (!read.session || !read.node)) return std::nullopt;
  return read;
}

int probe() {
  const int pidfd = open_pidfd(::getpid());
  if (pidfd < 0) {
    return print_error({exit_code::kInternal,
                        "this system lacks pidfd_open(2): dlaunch needs Linux 5.3 or newer"});
  }
  ::close(pidfd);
  if (const Status s = sync_own_binary(); !s) return print_error(s.error());
  return print_text(own_build_id() + '\n');
}

/// A session starts only when the processes of the lost one are gone.
bool lost_session_has_ended(const AgentWords& words) {
  return !words.after || wait_for_session_end(session_folders(), {*words.after, *words.node});
}

/// agent --py-spy: on the machine of the launcher, for its engine.
int write_py_spy() {
  const char* const path = std::getenv("PATH");
  const auto bytes = read_own_py_spy(path != nullptr ? path : "");
  if (bytes) return write_all(STDOUT_FILENO, *bytes) == 0 ? exit_code::kOk : exit_code::kInternal;
  write_all(STDERR_FILENO, bytes.error().message);
  return bytes.error().exit_code;
}

/// agent --enter FOLDER [--at WORKDIR] RANK: the first process of a rank's container.
std::optional<int> enter(const std::vector<std::string>& words) {
  std::optional<std::uint32_t> rank;
  if (words.size() < 4 || words[1] != "--enter" || !read_number(words.back(), 10, rank))
    return std::nullopt;
  if (words.size() == 4) return enter_container(words[2], Rank(*rank), "");
  if (words.size() != 6 || words[3] != "--at") return std::nullopt;
  return enter_container(words[2], Rank(*rank), words[4]);
}

}  // namespace

int agent_command(const std::vector<std::string>& words) {
  if (const auto code = enter(words)) return *code;
  if (words == std::vector<std::string>{"agent", "--py-spy"}) return write_py_spy();
  if (words == std::vector<std::string>{"agent", "--unpack"}) return unpack_main();
  const auto read = read_words(words);
  if (!read) {
    return print_error(
        {exit_code::kUsage, "dlaunch agent is internal: dlaunch starts it on the nodes of a run"});
  }
  if (read->probe) return probe();
  if (read->build) {
    // Without "ready" the launcher stages the binary again.
    const Status whole = check_staged_binary(*read->build, read->size.value_or(0));
    if (!whole) return print_error(whole.error());
  }
  ensure_standard_descriptors();
  // With an inherited SIG_IGN the kernel would discard the exit status of the ranks (wait(2)).
  std::signal(SIGCHLD, SIG_DFL);
  const std::string marker = kMarker + session_text(*read->session);
  if (read->attach) return attach_main({*read->session, *read->node}, marker);
  if (!lost_session_has_ended(*read)) {
    write_all(STDOUT_FILENO, marker + " failed processes of the lost session are still running\n");
    return exit_code::kNodeLost;
  }
  AgentOptions options;
  options.read = duplicate(STDIN_FILENO);
  options.write = duplicate(STDOUT_FILENO);
  options.session = *read->session;
  options.node = *read->node;
  options.pid_namespace = read->pid_namespace;
  options.hello_limit_ms = kHelloLimitMs;
  options.has_arguments = true;
  options.reports_signals = std::getenv("SLURM_STEP_ID") != nullptr;
  if (!options.read || !options.write || write_all(options.write.get(), marker + " ready\n") != 0)
    return exit_code::kNodeLost;
  mark_staged_binary_used();
  return guardian_main(std::move(options));
}

}  // namespace dlaunch
