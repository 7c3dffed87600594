// The parts of a report, each as HTML; a part is empty if it has nothing to show. For
// report_page.cc. Pure.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/html/report_page.h"
#include "report/html/report_secrets.h"
#include "report/html/run_story.h"

namespace dlaunch {

/// The contents of the run folder's files.
struct ReportFiles {
  const ReportInput& input;
  const nlohmann::json& summary;
  const nlohmann::json& plan;
  const nlohmann::json& samples;
  const RunStory& story;
  const ReportSecrets& secrets;
};

/// Phases, incidents, and a bar for each rank and attempt.
[[nodiscard]] std::string timeline_part(const RunStory& story);
/// What each node used over time.
[[nodiscard]] std::string nodes_part(const ReportFiles& files);
/// Each metric over time, and steps per second.
[[nodiscard]] std::string metrics_part(const ReportFiles& files);

[[nodiscard]] std::string ledger_part(const ReportFiles& files);
[[nodiscard]] std::string attempts_part(const ReportFiles& files);
[[nodiscard]] std::string ranks_part(const ReportFiles& files);
[[nodiscard]] std::string incidents_part(const ReportFiles& files);
/// `open`: the newest stacks are unfolded.
[[nodiscard]] std::string stacks_part(const ReportFiles& files, bool open);
[[nodiscard]] std::string preflight_part(const ReportFiles& files);
[[nodiscard]] std::string plan_part(const ReportFiles& files);
/// The variables of one rank, and for the script those of all ranks.
[[nodiscard]] std::string environment_part(const ReportFiles& files);
[[nodiscard]] std::string files_part(const ReportFiles& files);

}  // namespace dlaunch
