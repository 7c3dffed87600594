// `dlaunch report`: a run folder as one HTML file that needs no server, no network and no other
// file. The page is readable without its script. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/time.h"

namespace dlaunch {

/// The contents of a run folder; empty: the file does not exist, or cannot be read.
struct ReportInput {
  std::string id;
  std::string name;   // of the job; may be empty
  std::string state;  // "failed"
  std::string text;   // how it ended, or how long it has been running, as a sentence
  WallTime started{};
  WallTime ended{};     // now, if the run has not ended
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
      folder;         // path from the page's folder to the run folder, ends with a slash; or empty
  std::string nonce;  // random letters and digits: the browser executes only the script that has it
};

struct ReportText {
  std::string page;
  /// The same run for https://ui.perfetto.dev (Trace Event Format): a process for each node, a
  /// thread for each rank.
  std::string trace;
};

/// If a file is damaged, the page leaves out the parts that need it, and says so. Neither text has
/// values of variables whose names look secret.
[[nodiscard]] ReportText report_text(ReportInput input);

/// src/report/html/page.css and page.js.
extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace dlaunch
