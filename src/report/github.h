// What GitHub Actions shows of a run besides its log: an annotation of the cause and a step summary
// (https://docs.github.com/actions/reference/workflow-commands-for-github-actions). Pure.
#pragma once

#include <string>
#include <string_view>

#include "report/summary.h"

namespace dlaunch {

/// "::error file=train.py,line=118,title=...::...\n" for a run that has failed; else empty.
/// `workspace`: GITHUB_WORKSPACE; a file below it is named relative to it. `folder`: where the
/// ranks ran, for a file that Python names relative to it.
[[nodiscard]] std::string github_annotation(const SummaryInput& input, std::string_view workspace,
                                            std::string_view folder);

/// A line "::error file=job.yaml,line=7,col=3::MESSAGE\n" for each error of a job file or hostfile;
/// `errors` as jobfile::Diagnostics::to_error() writes them. One without line and column has no
/// properties; a file outside `workspace` is named as in the error.
[[nodiscard]] std::string github_job_file_annotations(std::string_view errors,
                                                      std::string_view workspace,
                                                      std::string_view folder);

/// Markdown for GITHUB_STEP_SUMMARY: a heading and what the console says at the end, at most 64
/// KiB.
[[nodiscard]] std::string github_step_summary(const SummaryInput& input);

}  // namespace dlaunch
