#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>
#include <memory>
#include <set>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/run_places.h"
#include "cli/slurm_job.h"
#include "os/clock.h"
#include "report/plain_text.h"
#include "report/runs_table.h"

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

DateParts local_parts(WallTime time) {
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return {parts.tm_year + 1900,
          parts.tm_mon + 1,
          parts.tm_mday,
          parts.tm_hour,
          parts.tm_min,
          parts.tm_sec,
          0};
}

bool is_about(const RunView& run) {
  return run.witness.record && !run.witness.record->slurm_job.empty() && !run.witness.ending;
}

/// Of jobs that ended too long ago for the queue.
void look_into_account(const std::vector<QueuedJob>& queue, FoundRuns& found) {
  std::set<std::string> forgotten;
  for (const RunView& run : found.runs) {
    if (is_about(run)) forgotten.insert(run.witness.record->slurm_job);
  }
  for (const QueuedJob& job : queue) forgotten.erase(job.id);
  if (forgotten.empty()) return;
  const auto states = ask_account(forgotten);
  for (RunView& run : found.runs) {
    if (!is_about(run)) continue;
    const auto state = states.find(run.witness.record->slurm_job);
    if (state != states.end()) run.slurm_state = state->second;
  }
}

/// Fills in what Slurm says of the runs that have not ended; returns a line for each job that was
/// submitted in this folder and has not begun. Where nobody has heard of Slurm it is not asked.
std::string look_into_queue(const RunPlaces& places, FoundRuns& found) {
  const bool asked_for = std::any_of(found.runs.begin(), found.runs.end(), is_about);
  if (!asked_for && !is_slurm_here()) return "";
  const auto queue = ask_queue();
  if (!queue) return "";
  look_into_account(*queue, found);
  std::string waiting;
  for (const QueuedJob& job : *queue) {
    for (RunView& run : found.runs) {
      if (is_about(run) && run.witness.record->slurm_job == job.id) run.slurm_state = job.state;
    }
    if (job.state != "PENDING" || job.comment != kSlurmComment || job.folder != places.folder)
      continue;
    waiting += "waiting in Slurm: job " + job.id + ", " + plain_line(job.name) + " (" +
               plain_line(job.reason) + ")\n";
  }
  return waiting;
}

struct RunsCommand {
  std::string folder;
  std::optional<std::uint32_t> most;
  bool all = false;
  bool json = false;

  int execute() const {
    const auto places = run_places(folder);
    if (!places) return print_error(places.error());
    const std::size_t limit = all ? std::numeric_limits<std::size_t>::max() : most.value_or(kUsual);
    FoundRuns found = list_runs(*places, limit);
    const std::string waiting = look_into_queue(*places, found);
    if (found.runs.empty() && found.unreadable) return print_error(*found.unreadable);
    print_notes(found.notes);
    if (found.unreadable)
      std::fprintf(stderr, "dlaunch: note: %s\n", found.unreadable->message.c_str());
    if (json) return print_text(runs_json(found.runs));
    if (found.runs.empty() && !found.more) {
      if (!waiting.empty()) return print_text(waiting);
      return print_text("no runs in " + places->base +
                        " yet; start one: dlaunch run -n 4 -- python train.py");
    }
    std::string text = runs_table(found.runs, wall_now(), local_parts);
    for (const RunView& run : found.runs) {
      if (run.state != RunState::lost) continue;
      text += "lost: its launcher was killed";
      // What ranks on other nodes printed may not have come home.
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
  return {"runs", "List runs and what has become of them", kFooter, describe,
          [runs] { return runs->execute(); }};
}

}  // namespace dlaunch
