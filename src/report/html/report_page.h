// `dlaunch report`: a run folder as one HTML file that needs nothing else: no server, no network,
// no other file. It is readable without its script. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/time.h"

namespace dlaunch {

/// What a run folder holds; empty: the file is not there, or is damaged.
struct ReportInput {
  std::string id;
  std::string name;   // of the job; may be empty
  std::string state;  // "failed"
  std::string text;   // how it ended, or how long it has been running, as a sentence
  WallTime started{};
  WallTime ended{};     // now, if the run goes on
  std::string version;  // of dlaunch
  std::string job_yaml;
  std::string plan_json;
  std::string summary_json;
  std::string events;
  std::string samples_json;
  std::string preflight;
  std::vector<std::pair<std::string, std::string>> stacks;  // name and content of each file
  std::vector<std::string> files;                           // relative to the run folder, ascending
  std::vector<std::string> notes;                           // what is missing, and why
  std::string
      folder;         // of the run, relative to the page's, with a slash at the end, or empty
  std::string nonce;  // random letters and digits: the browser executes only the script that has it
};

struct ReportText {
  std::string page;
  /// The same run for https://ui.perfetto.dev (Trace Event Format): a process for each node, a
  /// thread for each rank.
  std::string trace;
};

/// If a file is damaged, its parts of the page are missing, and the page says so. Neither text has
/// values of variables whose names look secret.
[[nodiscard]] ReportText report_text(ReportInput input);

/// src/report/html/page.css and page.js.
extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace dlaunch
