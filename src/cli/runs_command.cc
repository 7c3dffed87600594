#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>

#include "cli/commands.h"
#include "cli/print.h"
#include "launch/slurm/slurm_queue.h"
#include "os/clock.h"
#include "report/runs_table.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

constexpr std::size_t kUsual = 20;
constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch runs                     the newest 20 runs that were started here\n"
    "  dlaunch runs --all ~/cifar       all runs of another folder\n"
    "  dlaunch runs --json              for tools\n"
    "\n"
    "Looks in logs.dir of the job.yaml here, else in runs/. A run is lost when\n"
    "its launcher was killed before it could say how the run ended.";

/// To stderr, at most a few.
void print_notes(const std::vector<std::string>& notes) {
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 0; i < std::min(notes.size(), kShown); ++i)
    std::fprintf(stderr, "dlaunch: note: skipped %s\n", notes[i].c_str());
  if (notes.size() > kShown)
    std::fprintf(stderr, "dlaunch: note: and %zu more\n", notes.size() - kShown);
}

struct RunsCommand {
  std::string folder;
  std::optional<std::uint32_t> most;
  bool all = false;
  bool json = false;

  int execute() const {
    const auto folders = run_folders(folder);
    if (!folders) return print_error(folders.error());
    const std::size_t limit = all ? std::numeric_limits<std::size_t>::max() : most.value_or(kUsual);
    FoundRuns found = list_runs(*folders, limit);
    std::string waiting;
    for (const QueuedJob& job : ask_slurm(*folders, found.runs))
      waiting += "waiting in Slurm: job " + job.id + ", " + plain_line(job.name) + " (" +
                 plain_line(job.reason) + ")\n";
    if (found.runs.empty() && found.unreadable) return print_error(*found.unreadable);
    print_notes(found.notes);
    if (found.unreadable)
      std::fprintf(stderr, "dlaunch: note: %s\n", found.unreadable->message.c_str());
    if (json) return print_text(runs_json(found.runs));
    if (found.runs.empty() && !found.more) {
      if (!waiting.empty()) return print_text(waiting);
      return print_text("no runs in " + folders->base +
                        " yet; start one: dlaunch run -n 4 -- python train.py");
    }
    std::string text = runs_table(found.runs, wall_now(), local_parts);
    for (const RunView& run : found.runs) {
      if (run.state != RunState::lost) continue;
      text += state_text(run);
      // Output of ranks on other nodes may still be there.
      text += run.left.empty() ? "\n" : "; where its output is: dlaunch logs " + run.id + '\n';
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
        "Where the runs were started, or the folder\nthat holds them (default: here)");
    options.number("-n", runs->most, "The newest N (default: 20)", "N");
    options.flag("-a,--all", runs->all, "All of them");
    options.flag("--json", runs->json, "As JSON");
    options.exclude("--all", "-n");
  };
  return {"runs", "List runs and their states", kFooter, describe,
          [runs] { return runs->execute(); }};
}

}  // namespace dlaunch
