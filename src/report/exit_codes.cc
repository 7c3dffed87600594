#include "report/exit_codes.h"

#include <array>
#include <csignal>
#include <string>
#include <utility>

#include "model/result.h"
#include "model/signal_names.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

using namespace exit_code;

constexpr int kMostCode = 255;

// A test compares this table with docs/reference/exit-codes.md, to which pages link.
constexpr auto kRows = std::to_array<ExitCodeRow>({
    {kOk, kOk, "0", "The job succeeded.", ""},
    {1, 125, "1 to 125", "A rank exited with this code; the report names it.",
     "read the exception in the report; dlaunch logs --rank N"},
    {kUsage, kUsage, "64", "The command line is wrong. Nothing was started.", "dlaunch run --help"},
    {kJobFile, kJobFile, "65",
     "The job file is wrong, or the job contradicts itself. Nothing was started. Also: an MPI rank "
     "exited with 0 without having been part of the job's MPI world.",
     "correct the line that the message names; dlaunch plan checks the file"},
    {kNodeLost, kNodeLost, "69", "A node could not be reached, or was lost.",
     "the report quotes ssh; dlaunch check tests the nodes"},
    {kInternal, kInternal, "70", "A fault in dlaunch, or in mpirun where mpirun starts the ranks.",
     "the message says which process failed; please report it"},
    {kNotCollected, kNotCollected, "74",
     "The ranks succeeded, but not everything that `collect` names was copied to the launcher.",
     "dlaunch collect"},
    {kPreflight, kPreflight, "75",
     "A prerequisite of the run is not met: no address that every node reaches, a missing library, "
     "a failed `sync`, a failed preflight check, isolation that the kernel refuses. Nothing was "
     "started. Or the ranks of a node need more open files than its `ulimit -n` allows.",
     "follow the `try:` line; dlaunch check tests the nodes"},
    {kTimeLimit, kTimeLimit, "124",
     "A time limit: `timeouts.run`, `timeouts.stragglers_after_success`, or `timeouts.hang`.",
     "the report names the ranks that were still running, or says where they stood"},
    {kCannotExecute, kCannotExecute, "126",
     "The program of a rank cannot be executed, the working directory or an active Python "
     "environment is missing on a node, or a container could not be started.",
     "check permissions and paths on the node that is named"},
    {kNotFound, kNotFound, "127", "The program of a rank was not found.",
     "check PATH on the node; dlaunch plan --env 0"},
    {kPreempted, kPreempted, "158",
     "A node was about to be taken away (`preemption`), and no restart followed. A rank that "
     "SIGPWR killed has the same exit code.",
     "submit the job again; dlaunch help preemption"},
    {kSignalBase + 1, kSignalBase + 64, "128 + n",
     "Signal n killed the rank that failed first (137: SIGKILL, 139: SIGSEGV), or ended dlaunch "
     "itself (130: Ctrl-C, 143: SIGTERM).",
     "for 137 the report says whether the kernel ran out of memory"},
});

std::string help_text(const std::string& title, std::string_view meaning, std::string_view advice) {
  std::string text = title + '\n';
  append_wrapped(text, "  ", "  ", meaning);
  if (!advice.empty()) append_wrapped(text, "  try: ", "       ", advice);
  return text;
}

/// What the row of all signals says, for one of them.
std::string signal_text(int number) {
  constexpr std::array<std::pair<int, std::string_view>, 5> kEndDlaunch{
      {{SIGHUP, ", or ended dlaunch itself (its terminal was closed)"},
       {SIGINT, ", or ended dlaunch itself (Ctrl-C)"},
       {SIGQUIT, ", or ended dlaunch itself (Ctrl-\\)"},
       {SIGKILL, ", or killed dlaunch itself"},
       {SIGTERM, ", or ended dlaunch itself (dlaunch stop, kill, a scheduler)"}}};
  const std::string name = signal_name(number);
  std::string meaning = (name.starts_with("SIG") ? name : "S" + name.substr(1)) +
                        " killed the rank that failed first";
  for (const auto& [known, text] : kEndDlaunch)
    if (known == number) meaning += text;
  return help_text(
      std::to_string(kSignalBase + number) + " = 128 + " + std::to_string(number) + ", " + name,
      meaning + '.',
      number == SIGKILL ? "the report says whether the kernel ran out of memory" : "");
}

std::string row_text(const ExitCodeRow& row, int code) {
  return row.first == kSignalBase + 1 ? signal_text(code - kSignalBase)
                                      : help_text(std::to_string(code), row.meaning, row.advice);
}

}  // namespace

std::span<const ExitCodeRow> exit_codes() {
  return kRows;
}

std::string exit_code_help(int code) {
  if (code < 0 || code > kMostCode) return "";
  std::string own;
  std::string of_ranks;
  for (const ExitCodeRow& row : kRows) {
    if (code >= row.first && code <= row.last)
      (row.first == row.last ? own : of_ranks) += row_text(row, code);
  }
  if (own.empty()) return of_ranks.empty() ? row_text(kRows[1], code) : of_ranks;
  if (code == kOk) return own;
  return own + "  A rank may exit with the same code; `origin` in summary.json is then \"rank\".\n";
}

}  // namespace dlaunch
