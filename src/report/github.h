// What GitHub Actions shows about a run besides its log: an annotation with the cause and a step
// summary (https://docs.github.com/actions/reference/workflow-commands-for-github-actions). Pure.
#pragma once

#include <string>
#include <string_view>

#include "report/summary.h"

namespace dlaunch {

/// "::error file=train.py,line=118,title=...::...\n" for a run that has failed; else empty.
/// `workspace`: GITHUB_WORKSPACE; file names are made relative to it. `folder`: where the ranks
/// ran, to which Python's file names may be relative.
[[nodiscard]] std::string github_annotation(const SummaryInput& input, std::string_view workspace,
                                            std::string_view folder);

/// A line "::error file=job.yaml,line=7,col=3::MESSAGE\n" for each error of a job file or hostfile;
/// `errors` as jobfile::Diagnostics::to_error() writes them. An error without line and column gets
/// no properties; a file outside `workspace` keeps the name that it has in the error.
[[nodiscard]] std::string github_job_file_annotations(std::string_view errors,
                                                      std::string_view workspace,
                                                      std::string_view folder);

/// Markdown for GITHUB_STEP_SUMMARY: a heading, and at most 64 KiB of what the console says at the
/// end.
[[nodiscard]] std::string github_step_summary(const SummaryInput& input);

}  // namespace dlaunch
