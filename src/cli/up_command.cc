// `dlaunch up` and `dlaunch down`.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/load_job.h"
#include "cli/print.h"
#include "jobfile/hostlist.h"
#include "jobfile/scalar.h"
#include "launch/connect/node_targets.h"
#include "launch/front/front.h"
#include "launch/front/terminal_prompt.h"
#include "launch/keep/keeper.h"
#include "launch/keep/keeper_socket.h"
#include "launch/keep/kept_nodes.h"
#include "launch/keep/kept_table.h"
#include "os/build_id.h"
#include "os/own_machine.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr const char* kUpFooter =
    "Examples:\n"
    "  dlaunch up --hosts gpu[01-08]            keep connections to these nodes\n"
    "  dlaunch up job.yaml --idle 8h            to the hosts of a job\n"
    "  dlaunch run --hosts gpu[01-08] -- ...    uses them, like every run on these hosts\n"
    "  dlaunch up --list                        which nodes are kept, and their state\n"
    "  dlaunch down                             gives them up\n"
    "\n"
    "Exit code: 0 the nodes are kept; 69 a node cannot be reached, so none is\n"
    "kept; 64 usage, 65 job file.";

constexpr const char* kDownFooter =
    "Examples:\n"
    "  dlaunch down                     gives up all kept nodes\n"
    "  dlaunch down --hosts gpu[01-04]  these; one in use, once its run is done";

// Enough for the nodes to report on themselves (keeper.cc), and for the list to arrive.
constexpr std::chrono::seconds kListLimit{8};
constexpr std::chrono::seconds kAnswer{3};
constexpr std::size_t kKeysInPacket = 64;

/// A keeper that is not stopped answers within milliseconds.
Error no_answer(const KeeperLine& line) {
  const std::string pid = std::to_string(line.pid());
  return {exit_code::kTimeLimit, "the keeper of nodes with pid " + pid +
                                     " does not answer: it was stopped, or hangs. kill -KILL " +
                                     pid + " ends it; its idle agents then end by themselves"};
}

/// The keepers of this build; if `replaces`, those of another build are told to end.
std::vector<KeeperLine> own_keepers(bool replaces) {
  std::vector<KeeperLine> own;
  for (UniqueFd& socket : connect_to_keepers()) {
    KeeperLine line(std::move(socket));
    const std::string build = line.build();
    if (build.empty()) {
      std::fprintf(stderr, "dlaunch: note: %s\n", no_answer(line).message.c_str());
    } else if (build == own_build_id()) {
      own.push_back(std::move(line));
    } else if (replaces) {
      line.go_away();
      std::fprintf(stderr, "dlaunch: note: gave up the nodes that another build of dlaunch kept\n");
    } else {
      std::fprintf(stderr,
                   "dlaunch: note: another build of dlaunch also keeps nodes; to give them up: "
                   "dlaunch down\n");
    }
  }
  return own;
}

/// Whether the keeper was about to end when it was found, so that it keeps nothing.
bool has_gone(const Result<KeeperPacket>& answer) {
  return !answer && answer.error().exit_code == exit_code::kNodeLost;
}

/// Which of these nodes have a keeper.
Result<std::vector<bool>> find_kept(const std::vector<std::string>& keys) {
  std::vector<bool> kept(keys.size());
  for (KeeperLine& line : own_keepers(true)) {
    for (std::size_t first = 0; first < keys.size(); first += kKeysInPacket) {
      const std::size_t end = std::min(first + kKeysInPacket, keys.size());
      WantNodes question;
      question.lends = false;
      question.first = static_cast<std::uint32_t>(first);
      for (std::size_t i = first; i < end; ++i) question.keys.push_back(keys[i]);
      line.say(question);
      for (std::size_t i = first; i < end; ++i) {
        const auto answer = line.wait(kAnswer);
        if (has_gone(answer)) break;
        if (!answer) return tl::unexpected(answer.error());
        const auto* one = std::get_if<NotLent>(&answer->message);
        if (one != nullptr && one->is_known && one->number < keys.size()) kept[one->number] = true;
      }
    }
  }
  return kept;
}

struct UpCommand {
  JobOptions job;
  std::string idle = "1h";
  bool list = false;
  bool json = false;
  bool quiet = false;

  int execute() const {
    if (list) return print_list();
    if (json) return print_error({exit_code::kUsage, "--json needs --list"});
    if (!job.preload.empty())
      return print_error(
          {exit_code::kUsage, "--preload " + job.preload +
                                  ": a template is made from a program's own command line, so the "
                                  "first run makes it: dlaunch run --preload " +
                                  job.preload + " ..."});
    KeeperOptions options;
    const auto limit = jobfile::parse_duration(idle);
    if (!limit || limit->count() <= 0)
      return print_error(
          {exit_code::kUsage, "--idle " + idle + ": expected a duration, for example --idle 8h"});
    options.idle_limit = *limit;
    options.quiet = quiet;
    options.may_ask = can_ask_on_terminal();
    auto turn = take_turn_to_keep([] {
      std::fprintf(stderr, "dlaunch: another dlaunch up is connecting to nodes; waiting for it\n");
    });
    if (!turn) return print_error(turn.error());
    if (const Status read = read_hosts(options.spec); !read) return print_error(read.error());
    if (options.spec.hosts.hosts.empty()) return exit_code::kOk;
    const int code = run_front(
        [&](UniqueFd link) {
          turn->reset();  // the front holds the turn until the nodes are kept
          return keeper_main(options, std::move(link));
        },
        {.detach = true, .is_keeper = true});
    std::fflush(nullptr);
    ::_exit(code);
  }

  /// Restricts the job to the hosts that can be kept, and tells the user which ones cannot.
  Status read_hosts(JobSpec& spec) const {
    const auto folder = current_folder();
    if (!folder) return tl::unexpected(folder.error());
    JobOptions wanted = job;
    if (job.file.empty()) wanted.arguments = {"true"};
    auto loaded = load_job(wanted, *folder);
    if (!loaded) return tl::unexpected(loaded.error());
    if (const Status hosts = resolve_job_hosts(wanted, quiet, *loaded); !hosts) return hosts;
    spec = std::move(loaded->spec);
    spec.nodes.reset();  // all hosts that were named
    spec.spares = 0;
    if (spec.hosts.in_slurm)
      return fail(exit_code::kUsage,
                  "the nodes of a Slurm job are not kept: srun starts agents there "
                  "for one run each");
    const auto targets = node_targets(spec, this_machine());
    if (!targets) return tl::unexpected(targets.error());
    std::vector<std::string> keys;
    for (const NodeTarget& target : *targets) keys.push_back(target_key(spec.connect, target));
    const auto kept = find_kept(keys);
    if (!kept) return tl::unexpected(kept.error());
    std::vector<HostSpec> hosts;
    std::size_t already = 0;
    for (std::size_t i = 0; i < targets->size(); ++i) {
      if ((*kept)[i]) ++already;
      if (!(*kept)[i] && !(*targets)[i].is_local()) hosts.push_back(spec.hosts.hosts[i]);
      if ((*targets)[i].is_local() && !quiet)
        std::fprintf(stderr, "dlaunch: note: %s is this machine; a run needs no connection to it\n",
                     (*targets)[i].host.name.c_str());
    }
    if (already > 0 && !quiet)
      std::fprintf(stderr, "dlaunch: note: %s kept already\n",
                   already == 1 ? "1 node is" : (counted(already, "node") + " are").c_str());
    spec.hosts.hosts = std::move(hosts);
    return {};
  }

  int print_list() const {
    std::vector<KeptList> keepers;
    for (KeeperLine& line : own_keepers(false)) {
      line.say(ListNodes{});
      KeptList whole;
      for (bool last = false; !last;) {
        auto answer = line.wait(kListLimit);
        if (has_gone(answer)) break;
        if (!answer) return print_error(answer.error());
        const auto* part = std::get_if<KeptList>(&answer->message);
        if (part == nullptr) break;
        last = part->last;
        whole.pid = part->pid;
        whole.left_ms = part->left_ms;
        whole.nodes.insert(whole.nodes.end(), part->nodes.begin(), part->nodes.end());
      }
      if (whole.pid != 0) keepers.push_back(std::move(whole));
    }
    if (json) return print_text(kept_json(keepers));
    if (!keepers.empty()) return print_text(kept_table(keepers));
    std::fprintf(stderr, "dlaunch: no nodes are kept\n");
    return exit_code::kOk;
  }
};

struct DownCommand {
  std::optional<std::string> hosts;

  int execute() const {
    GiveUp wish;
    if (hosts) {
      const auto list = jobfile::expand_hostlist(*hosts);
      if (!list) return print_error(list.error());
      for (const jobfile::HostEntry& host : *list) wish.hosts.push_back(host.name);
    }
    GivenUp all;
    int code = exit_code::kOk;
    for (UniqueFd& socket : connect_to_keepers()) {
      const auto given = ask(KeeperLine(std::move(socket)), wish);
      if (!given) code = print_error(given.error());
      all.nodes += given ? given->nodes : 0;
      all.in_use += given ? given->in_use : 0;
    }
    if (all.nodes != 0 || code == exit_code::kOk) tell(all);
    return code;
  }

  /// What the keeper gives up: nothing, if it was about to end or belongs to another build.
  Result<GivenUp> ask(KeeperLine line, const GiveUp& wish) const {
    const std::string build = line.build();
    if (build.empty()) return tl::unexpected(no_answer(line));
    if (build != own_build_id()) {
      if (!hosts) line.go_away();
      return GivenUp();
    }
    line.say(wish);
    const auto answer = line.wait(kAnswer);
    if (has_gone(answer)) return GivenUp();
    if (!answer) return tl::unexpected(answer.error());
    const auto* given = std::get_if<GivenUp>(&answer->message);
    if (given == nullptr) return GivenUp();
    // The keeper ends when its agents have ended.
    if (given->is_empty) (void)line.wait(kAnswer);
    return *given;
  }

  void tell(const GivenUp& all) const {
    if (all.nodes == 0) {
      std::fprintf(stderr, "dlaunch: %s\n",
                   hosts ? "none of these hosts is kept" : "no nodes are kept");
      return;
    }
    std::fprintf(
        stderr, "dlaunch: %s given up%s\n",
        all.nodes == 1 ? "1 node is" : (counted(all.nodes, "node") + " are").c_str(),
        all.in_use == 0
            ? ""
            : (", " + std::to_string(all.in_use) + " of them when their runs are done").c_str());
  }
};

}  // namespace

Subcommand up_command() {
  auto up = std::make_shared<UpCommand>();
  const auto describe = [up](CommandOptions options) {
    add_job_options(options, up->job);
    options = options.in_group("Keeping nodes");
    options.value("--idle", up->idle,
                  "Release the nodes after this time without a run\n(default: 1h)", "DURATION");
    options.flag("--list", up->list, "Which nodes are kept, and their state");
    options.flag("--json", up->json, "With --list: as JSON");
    options.flag("-q,--quiet", up->quiet, "Only failures");
  };
  return {"up", "Keep connections to nodes for later runs", kUpFooter, describe,
          [up] { return up->execute(); }};
}

Subcommand down_command() {
  auto down = std::make_shared<DownCommand>();
  const auto describe = [down](CommandOptions options) {
    options.value("--hosts", down->hosts, "Only these hosts", "LIST");
  };
  return {"down", "Give up kept nodes", kDownFooter, describe, [down] { return down->execute(); }};
}

}  // namespace dlaunch
