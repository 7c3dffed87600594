#include <memory>
#include <numeric>

#include "cli/commands.h"
#include "cli/print.h"
#include "launch/console/log_view.h"
#include "model/rank_list.h"
#include "os/folder_watch.h"
#include "runs/run_index.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch logs                      all ranks of the newest run, rank by rank\n"
    "  dlaunch logs -f                   the last lines, then new ones; Ctrl-C ends the view\n"
    "  dlaunch logs -f --tail all        from the beginning\n"
    "  dlaunch logs --timestamps         all ranks merged, by time\n"
    "  dlaunch logs k3f --rank 5 --err   stderr of rank 5, byte for byte\n"
    "  dlaunch logs --tail 20            the last 20 lines of each rank\n"
    "\n"
    "stdout of the ranks goes to stdout, stderr to stderr. With several ranks, each\n"
    "line begins with its rank.";

struct LogsCommand {
  std::string word;
  std::string ranks;
  std::optional<std::uint32_t> attempt;
  std::optional<std::string> tail;
  bool follow = false;
  bool timestamps = false;
  bool only_out = false;
  bool only_err = false;

  int execute() const {
    const auto folders = run_folders("");
    if (!folders) return print_error(folders.error());
    auto run = find_run(*folders, word);
    if (!run) return print_error(run.error());
    std::vector<std::string> labels = rank_labels(run->path);
    if (labels.empty() && follow) {
      wait_for_plan(*run);
      labels = rank_labels(run->path);
    }
    if (labels.empty()) {  // no rank has started
      say_no_output(*run);
      return exit_code::kOk;
    }
    auto selection = select(*run, labels.size());
    if (!selection) return print_error(selection.error());
    LogView view(*run, std::move(*selection), std::move(labels));
    const Status shown = follow ? view.follow() : view.show();
    return shown ? exit_code::kOk : print_error(shown.error());
  }

  [[nodiscard]] Result<LogSelection> select(const RunView& run, std::size_t count) const {
    LogSelection selection;
    selection.ranks.resize(count);
    std::iota(selection.ranks.begin(), selection.ranks.end(), 0U);
    if (!ranks.empty()) {
      auto chosen = parse_ranks(ranks, static_cast<std::uint32_t>(count));
      if (!chosen) return tl::unexpected(chosen.error());
      selection.ranks = std::move(*chosen);
    }
    const auto attempts = attempts_of(run.path);
    if (attempt && !contains(attempts, *attempt)) {
      return fail(exit_code::kUsage,
                  "there is no attempt " + std::to_string(*attempt) + ": run " + run.id + " has " +
                      (attempts.size() < 2 ? "attempt 0 only"
                                           : "attempts 0 to " + std::to_string(attempts.back())));
    }
    selection.attempt = attempt;
    if (const Status good = read_tail(selection.tail); !good) return tl::unexpected(good.error());
    selection.timestamps = timestamps;
    selection.out = !only_err;
    selection.err = !only_out;
    return selection;
  }

  /// Like tail(1), -f begins near the end.
  Status read_tail(std::optional<std::uint32_t>& lines) const {
    constexpr std::uint32_t kNearTheEnd = 10;
    constexpr std::size_t kDigits = 9;
    if (follow) lines = kNearTheEnd;
    if (!tail) return {};
    lines.reset();
    if (*tail == "all") return {};
    if (tail->empty() || tail->size() > kDigits ||
        tail->find_first_not_of("0123456789") != std::string::npos)
      return fail(exit_code::kUsage, "--tail " + *tail + ": expected a number, 0 or more, or all");
    lines = static_cast<std::uint32_t>(std::stoul(*tail));
    return {};
  }

  /// Waits until a new run has a plan; connecting has its own limit (timeouts.connect).
  static void wait_for_plan(RunView& run) {
    FolderWatch watch;
    watch.add(run.path);
    while (is_live(run.state) && rank_labels(run.path).empty()) {
      watch.wait(std::chrono::seconds(1));
      if (auto seen = read_run_state(run.path)) run = std::move(*seen);
    }
  }
};

}  // namespace

Subcommand logs_command() {
  auto logs = std::make_shared<LogsCommand>();
  const auto describe = [logs](CommandOptions options) {
    options.positional("RUN", logs->word,
                       "Unique beginning or end of an id, or a folder\n(default: the newest run)");
    options.flag("-f,--follow", logs->follow, "Show output as it comes, until the run ends");
    options.value("-r,--rank,--ranks", logs->ranks, "Only these ranks: 3 or 0,2-5", "RANKS");
    options.flag("--out", logs->only_out, "Only stdout");
    options.flag("--err", logs->only_err, "Only stderr");
    options.exclude("--out", "--err");
    options.number("--attempt", logs->attempt, "An attempt (default: the last one)", "K");
    options.value("-n,--tail", logs->tail,
                  "The last N lines of each rank (default: all;\nwith -f: 10)", "N|all");
    options.flag("-t,--timestamps", logs->timestamps,
                 "Show the time of each line; merge ranks by time");
  };
  return {"logs", "Show what the ranks of a run have printed", kFooter, describe,
          [logs] { return logs->execute(); }};
}

}  // namespace dlaunch
