#include "launch/engine/run_summary.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fcntl.h>
#include <unistd.h>

#include "launch/output/output_settings.h"
#include "os/terminal.h"
#include "os/write_all.h"
#include "report/culprit.h"
#include "report/evidence.h"
#include "report/github.h"
#include "report/metrics.h"

namespace dlaunch {

namespace {

constexpr std::size_t kTailOfOthers = std::size_t{16} << 10;
constexpr std::size_t kQuoted = 10;
constexpr std::size_t kRanksLookedAt = 64;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// The paths of the files; empty if the folder cannot be read.
std::set<std::string> files_in(const std::string& folder) {
  std::set<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    files.insert(entry->path().string());
  return files;
}

/// Corrects the cause using the ranks' output, which is now complete.
Evidence read_evidence(RunReport& report, const std::string& attempt_folder) {
  Evidence evidence;
  Outcome& outcome = report.outcome;
  if (outcome.cause == Cause::starter) evidence.last_lines = lines_of(outcome.said);
  if (!outcome.first) return evidence;
  RankEvidence words;
  words[*outcome.first] = evidence_of(attempt_folder, outcome.first->value);
  for (const Rank rank : other_evidence_needed(report, words[*outcome.first]))
    words[rank] = evidence_of(attempt_folder, rank.value, kTailOfOthers);
  name_culprit(report, words);
  if (outcome.cause == Cause::starter) return evidence;
  return evidence_of(attempt_folder, outcome.first->value);
}

/// Whether the end of the culprit's output, or of that of a rank that failed alike, is among the
/// last lines that the console has shown.
bool is_on_screen(const RunReport& report, const Evidence& evidence, const OutputSide& output) {
  if (!report.outcome.first) return false;
  std::vector<Rank> ranks = report.outcome.alike;
  ranks.push_back(*report.outcome.first);
  return output.is_on_screen(ranks, evidence.of_stdout ? Stream::out : Stream::err,
                             std::min(evidence.last_lines.size(), kQuoted));
}

/// Notes for a run that succeeded. Reads a few ranks only, since all have the same loss.
std::vector<std::string> notes_on(const SummaryInput& input, const std::string& attempt_folder) {
  const Cause cause = input.report.outcome.cause;
  const bool has_succeeded = cause == Cause::success || cause == Cause::not_collected;
  if (!has_succeeded || attempt_folder.empty()) return {};
  std::vector<std::string> notes = nan_metrics(input.metrics);
  if (!notes.empty()) return notes;
  const std::set<std::string> files = files_in(attempt_folder);
  const auto count = std::min<std::size_t>(input.report.ranks.size(), kRanksLookedAt);
  for (std::size_t rank = 0; rank < count; ++rank) {
    for (const char* stream : {".out", ".err"}) {
      const std::string file = attempt_folder + "/rank-" + std::to_string(rank) + stream;
      if (!files.contains(file)) continue;
      if (const auto text = printed_nan(read_tail(file, kEvidenceTail)))
        return {"rank " + std::to_string(rank) + " printed \"" + *text + '"'};
    }
  }
  return {};
}

/// GitHub reads annotations from the log and the step summary from a file.
void tell_github(const SummaryInput& input, const RunOptions& options, std::string& text) {
  const auto value = [&](const char* name) {
    return find_variable(options.environment, name).value_or("");
  };
  if (value("GITHUB_ACTIONS") != "true") return;
  const std::string folder = input.plan ? input.plan->workdir : options.current_folder;
  text += github_annotation(input, value("GITHUB_WORKSPACE"), folder);
  const std::string file = value("GITHUB_STEP_SUMMARY");
  if (file.empty()) return;
  const UniqueFd out(
      ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!out || write_all(out.get(), github_step_summary(input)) != 0)
    text += "dlaunch: note: cannot write the step summary to " + file + '\n';
}

SlurmPart slurm_part(const RunOptions& options, const std::string& reason) {
  SlurmPart part{find_variable(options.environment, "SLURM_JOB_ID").value_or(""), reason, {}};
  if (options.slurm_end) part.ends = WallTime(*options.slurm_end);
  return part;
}

}  // namespace

std::string write_summary(RunReport& report, const SummaryParts& parts) {
  const RunOptions& options = parts.options;
  const std::string& folder = parts.store.attempt_folder();
  Evidence evidence = read_evidence(report, folder);
  SummaryInput input{parts.plan, report, options.folder_goes ? "" : parts.store.shown_path(),
                     std::move(evidence)};
  input.on_screen = is_on_screen(report, input.evidence, parts.output);
  if (parts.plan != nullptr) input.stdin_rank = stdin_rank(options, *parts.plan);
  input.columns = screen_columns(options.environment);
  input.colour = !options.plain && terminal_size(STDERR_FILENO) && may_colour(options.environment);
  input.preflight = options.preflight;
  input.slurm = slurm_part(options, parts.slurm_reason);
  if (!folder.empty()) {
    const auto ranks = static_cast<std::uint32_t>(report.ranks.size());
    input.metrics = read_metrics(folder, ranks, options.spec.metrics);
  }
  for (std::uint32_t i = 0; i < parts.targets.size(); ++i)
    input.node_names[NodeId(i)] = parts.targets[i].host.name;
  input.stalls = parts.stalls;
  input.spares = parts.spares;
  input.collected = parts.collected;
  input.checkpoints = parts.checkpoints;
  input.checkpoint_patterns = options.spec.checkpoint.path;
  input.notes = notes_on(input, folder);
  parts.store.write_summary(summary_json(input));
  if (const Status flushed = parts.store.flush(); !flushed)
    parts.screen.say("dlaunch: note: " + flushed.error().message);
  std::string text = summary_text(input);
  tell_github(input, options, text);
  return text;
}

void write_summary(const Error& error, MonotonicTime elapsed, const SummaryParts& parts) {
  RunReport report;
  report.outcome.exit_code = error.exit_code;
  report.outcome.cause = Cause::internal;
  report.outcome.detail = error.message;
  report.elapsed = elapsed;
  SummaryInput input{parts.plan, report, parts.store.shown_path(), {}};
  input.preflight = parts.options.preflight;
  input.stalls = parts.stalls;
  input.spares = parts.spares;
  input.slurm = slurm_part(parts.options, parts.slurm_reason);
  parts.store.write_summary(summary_json(input));
}

}  // namespace dlaunch
