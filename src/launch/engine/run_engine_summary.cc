// The summary of a run: its cause, and where it is reported.
#include <algorithm>

#include <fcntl.h>
#include <unistd.h>

#include "launch/engine/run_engine.h"
#include "launch/output/output_settings.h"
#include "os/terminal.h"
#include "os/write_all.h"
#include "report/culprit.h"
#include "report/error_file.h"
#include "report/github.h"
#include "report/nan_notes.h"
#include "report/summary.h"

namespace dlaunch {

namespace {

constexpr std::size_t kTailOfOthers = std::size_t{16} << 10;
// Lines of the screen that the summary itself takes, and what is above it at least.
constexpr std::size_t kSummaryRows = 8;
constexpr std::size_t kLeastRows = 12;
constexpr std::size_t kScreenElsewhere = 40;  // lines, for a log without a terminal
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

}  // namespace

SlurmPart RunEngine::slurm_part() const {
  SlurmPart part{find_variable(options_.environment, "SLURM_JOB_ID").value_or(""), slurm_said_, {}};
  if (options_.slurm_end) part.ends = WallTime(*options_.slurm_end);
  return part;
}

void RunEngine::write_summary_file(const std::string& json) {
  if (const Status written = folder_->write("summary.json", json); !written)
    say("dlaunch: note: " + written.error().message);
  if (options_.summary_copy >= 0) static_cast<void>(write_all(options_.summary_copy, json));
}

/// Corrects the cause by the ranks' output, which is now complete.
Evidence RunEngine::read_evidence(RunReport& report) const {
  Evidence evidence;
  if (report.cause == Cause::mpirun) evidence.last_lines = lines_of(report.said);
  if (!report.first) return evidence;
  RankWords words;
  words[*report.first] = evidence_of(attempt_folder_, report.first->value);
  for (const Rank rank : other_words_needed(report, words[*report.first]))
    words[rank] = evidence_of(attempt_folder_, rank.value, kTailOfOthers);
  name_culprit(report, words);
  if (report.cause == Cause::mpirun) return evidence;
  return evidence_of(attempt_folder_, report.first->value);
}

/// Whether the end of what the culprit, or a rank that failed alike, said is among the lines that
/// the console has shown last.
bool RunEngine::is_on_screen(const RunReport& report, const Evidence& evidence) const {
  if (!report.first || given_up_[1]) return false;
  std::size_t window = kScreenElsewhere;
  if (const auto size = terminal_size(STDERR_FILENO); size && size->rows > 0)
    window = std::max(size->rows, kSummaryRows + kLeastRows) - kSummaryRows;
  const std::size_t wanted = std::min(evidence.last_lines.size(), kQuoted);
  const Stream stream = evidence.of_stdout ? Stream::out : Stream::err;
  std::vector<Rank> ranks = report.alike;
  ranks.push_back(*report.first);
  return std::any_of(ranks.begin(), ranks.end(), [&](Rank rank) {
    return router_.recent_lines(rank, stream, window) >= wanted;
  });
}

/// Notes for a run that ended well. Reads a few ranks only, since all have the same loss.
std::vector<std::string> RunEngine::notes_on(const SummaryInput& input) const {
  if (input.report.cause != Cause::success || attempt_folder_.empty()) return {};
  std::vector<std::string> notes = nan_metrics(input.metrics);
  if (!notes.empty()) return notes;
  const auto count = std::min<std::size_t>(input.report.ranks.size(), kRanksLookedAt);
  for (std::size_t rank = 0; rank < count; ++rank) {
    for (const char* stream : {".out", ".err"}) {
      const std::string file = attempt_folder_ + "/rank-" + std::to_string(rank) + stream;
      if (const auto text = printed_nan(read_tail(file, kEvidenceTail)))
        return {"rank " + std::to_string(rank) + " has printed \"" + *text + '"'};
    }
  }
  return {};
}

/// GitHub reads the annotation from the log, the step summary from a file.
void RunEngine::tell_github(const SummaryInput& input, std::string& text) const {
  const auto value = [this](const char* name) {
    return find_variable(options_.environment, name).value_or("");
  };
  if (value("GITHUB_ACTIONS") != "true") return;
  const std::string folder = plan_ ? plan_->workdir : options_.current_folder;
  text += github_annotation(input, value("GITHUB_WORKSPACE"), folder);
  const std::string file = value("GITHUB_STEP_SUMMARY");
  if (file.empty()) return;
  const UniqueFd out(
      ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!out || write_all(out.get(), github_step_summary(input)) != 0)
    text += "dlaunch: note: cannot write the step summary to " + file + '\n';
}

std::string RunEngine::write_summary(RunReport& report) {
  folder_->release_room();
  Evidence evidence = read_evidence(report);
  SummaryInput input{plan_ ? &*plan_ : nullptr, report,
                     options_.folder_goes ? "" : shown_path_, std::move(evidence)};
  input.on_screen = is_on_screen(report, input.evidence);
  input.stdin_for = plan_ && forwards_stdin(*plan_) ? StdinFor::rank0 : StdinFor::none;
  input.columns = screen_columns(options_.environment);
  input.colour =
      !options_.plain && terminal_size(STDERR_FILENO) && may_colour(options_.environment);
  input.preflight = options_.preflight;
  input.slurm = slurm_part();
  if (!attempt_folder_.empty()) {
    const auto ranks = static_cast<std::uint32_t>(report.ranks.size());
    input.metrics = read_metrics(attempt_folder_, ranks, options_.spec.metrics);
  }
  for (const Node& node : sessions_.cluster().nodes) input.node_names.push_back(node.name);
  input.notes = notes_on(input);
  write_summary_file(summary_json(input));
  if (const Status flushed = events_->flush(); !flushed)
    say("dlaunch: note: " + flushed.error().message);
  std::string text = summary_text(input);
  tell_github(input, text);
  return text;
}

}  // namespace dlaunch
