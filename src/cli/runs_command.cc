#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>

#include "cli/commands.h"
#include "cli/print.h"
#include "jobfile/scalar.h"
#include "launch/slurm/slurm_queue.h"
#include "os/clock.h"
#include "report/runs_table.h"
#include "runs/prune_runs.h"
#include "runs/run_index.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::size_t kUsual = 20;
constexpr const char* kUsualAge = "30d";
constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch runs                     the newest 20 runs that were started here\n"
    "  dlaunch runs --all ~/cifar       all runs of another folder\n"
    "  dlaunch runs --json              for tools\n"
    "  dlaunch runs --prune --keep 20   remove all finished runs but the newest 20\n"
    "\n"
    "Looks in logs.dir of ./job.yaml, else in runs/. A run is lost when\n"
    "its launcher was killed before it recorded how the run ended.";

/// Prints the first few notes to stderr.
void print_notes(const std::vector<std::string>& notes) {
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 0; i < std::min(notes.size(), kShown); ++i)
    std::fprintf(stderr, "dlaunch: note: skipped %s\n", notes[i].c_str());
  if (notes.size() > kShown)
    std::fprintf(stderr, "dlaunch: note: skipped %zu more\n", notes.size() - kShown);
}

struct RunsCommand {
  std::string folder;
  std::optional<std::uint32_t> most;
  std::optional<std::string> older;
  std::optional<std::uint32_t> keep;
  bool all = false;
  bool json = false;
  bool prune = false;
  bool dry_run = false;

  int execute() const {
    const auto folders = run_folders(folder);
    if (!folders) return print_error(folders.error());
    if (prune) return remove(*folders);
    if (older || keep || dry_run) {
      return print_error({exit_code::kUsage, std::string(older  ? "--older"
                                                         : keep ? "--keep"
                                                                : "--dry-run") +
                                                 " is for --prune, which removes finished runs"});
    }
    return list(*folders);
  }

 private:
  int remove(const RunFolders& folders) const {
    PruneRule rule;
    rule.dry_run = dry_run;
    if (keep) rule.keep = *keep;
    const std::string age = older.value_or(keep ? "" : kUsualAge);
    if (!age.empty() || older) {
      rule.older = jobfile::parse_duration(age);
      if (!rule.older) {
        return print_error({exit_code::kUsage, "--older " + plain_line(age) +
                                                   ": expected a time such as 30d, 12h or 1h30m"});
      }
    }
    const Pruning pruning = prune_runs(folders, rule);
    print_notes(pruning.notes);
    if (pruning.unreadable) print_error(*pruning.unreadable);
    std::string all = age.empty() ? "" : "older than " + age;
    if (keep)
      all += (age.empty() ? "" : " and ") + ("older than the newest " + counted(*keep, "run"));
    const int code =
        print_text(json ? pruning_json(pruning, rule) : pruning_text(pruning, rule, all));
    if (code != exit_code::kOk) return code;
    const bool failed = std::any_of(pruning.runs.begin(), pruning.runs.end(),
                                    [](const PrunedRun& one) { return one.failed; });
    return failed || pruning.unreadable ? kNoPermission : exit_code::kOk;
  }

  int list(const RunFolders& folders) const {
    const std::size_t limit = all ? std::numeric_limits<std::size_t>::max() : most.value_or(kUsual);
    FoundRuns found = list_runs(folders, limit);
    std::string waiting;
    for (const QueuedJob& job : ask_slurm(folders, found.runs))
      waiting += "waiting in Slurm: job " + job.id + ", " + plain_line(job.name) + " (" +
                 plain_line(job.reason) + ")\n";
    if (found.runs.empty() && found.unreadable) return print_error(*found.unreadable);
    print_notes(found.notes);
    if (found.unreadable)
      std::fprintf(stderr, "dlaunch: note: %s\n", found.unreadable->message.c_str());
    if (json) return print_text(runs_json(found.runs));
    if (found.runs.empty() && !found.more) {
      if (!waiting.empty()) return print_text(waiting);
      return print_text("no runs in " + folders.base +
                        " yet; start one: dlaunch run -n 4 -- python train.py");
    }
    std::string text = runs_table(found.runs, wall_now(), local_parts);
    for (const RunView& run : found.runs) {
      if (run.state != RunState::lost) continue;
      text += state_text(run);
      // Output of ranks on other nodes may still be there.
      text += run.left.empty()
                  ? "\n"
                  : "; where its output is: dlaunch logs " + word_for_run(run.path) + '\n';
      break;
    }
    text += waiting;
    if (found.more) text += "older ones: dlaunch runs --all\n";
    return print_text(text);
  }
};

}  // namespace

Subcommand runs_command() {
  auto runs = std::make_shared<RunsCommand>();
  const auto describe = [runs](CommandOptions options) {
    options.positional(
        "FOLDER", runs->folder,
        "Where the runs were started, or the folder\nthat holds them (default: this folder)");
    options.number("-n", runs->most, "The newest N (default: 20)", "N");
    options.flag("-a,--all", runs->all, "All of them");
    options.flag("--json", runs->json, "As JSON");
    options.exclude("--all", "-n");
    options = options.in_group("Remove runs that have ended");
    options.flag("--prune", runs->prune, "Remove the folders of finished runs");
    options.value("--older", runs->older,
                  "Runs that ended at least this long ago (default:\n30d, without --keep)", "TIME");
    options.number("--keep", runs->keep, "All but the newest N runs", "N");
    options.flag("--dry-run", runs->dry_run, "Only show what would be removed");
    options.exclude("--prune", "-n");
    options.exclude("--prune", "--all");
  };
  return {"runs", "List runs and their states", kFooter, describe,
          [runs] { return runs->execute(); }};
}

}  // namespace dlaunch
