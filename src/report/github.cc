#include "report/github.h"

#include <array>

#include "report/failure_words.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostSummary = std::size_t{64} << 10;  // GitHub accepts 1 MiB per step

bool has_failed(const RunReport& report) {
  return report.outcome.cause != Cause::success && report.outcome.cause != Cause::cancelled;
}

/// Escapes the special characters of a workflow command, in a property also ':' and ','.
std::string escaped(std::string_view text, bool is_property) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  const std::string_view special = is_property ? "%\r\n:," : "%\r\n";
  std::string out;
  for (const char c : text) {
    if (special.find(c) == std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4U];
    out += kHex[byte & 0xFU];
  }
  return out;
}

/// The path relative to the workspace, as GitHub expects it; empty: the file is not below the
/// workspace.
std::string file_in(std::string_view workspace, std::string_view folder, std::string file) {
  if (file.empty() || file.starts_with('<')) return "";
  if (!file.starts_with('/')) file = std::string(folder) + '/' + file;
  while (workspace.ends_with('/')) workspace.remove_suffix(1);
  if (workspace.empty() || !file.starts_with(std::string(workspace) + '/')) return "";
  return file.substr(workspace.size() + 1);
}

/// " file=job.yaml,line=7,col=3" for "job.yaml:7:3"; empty without line and column.
std::string location_properties(std::string_view location, std::string_view workspace,
                                std::string_view folder) {
  std::array<std::string_view, 2> numbers;  // column, line
  for (std::string_view& number : numbers) {
    const std::size_t colon = location.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == location.size()) return "";
    number = location.substr(colon + 1);
    if (number.find_first_not_of("0123456789") != std::string_view::npos) return "";
    location.remove_suffix(location.size() - colon);
  }
  const std::string below = file_in(workspace, folder, std::string(location));
  return " file=" + escaped(below.empty() ? location : below, true) +
         ",line=" + std::string(numbers[1]) + ",col=" + std::string(numbers[0]);
}

}  // namespace

std::string github_annotation(const SummaryInput& input, std::string_view workspace,
                              std::string_view folder) {
  if (!has_failed(input.report)) return "";
  const std::string what = FailureWords(input).headline();
  std::string properties;
  if (const auto& source = input.evidence.source) {
    const std::string file = file_in(workspace, folder, source->file);
    if (!file.empty())
      properties = "file=" + escaped(file, true) + ",line=" + escaped(source->line, true) + ',';
  }
  const bool has_error = input.evidence.exception.has_value();
  const std::string text = has_error ? *input.evidence.exception + '\n' + what : what;
  return "::error " + properties + "title=" + escaped("dlaunch: the run failed", true) +
         "::" + escaped(text, false) + '\n';
}

std::string github_job_file_annotations(std::string_view errors, std::string_view workspace,
                                        std::string_view folder) {
  constexpr std::string_view kError = ": error: ";
  std::string out;
  while (!errors.empty()) {
    const std::size_t end = std::min(errors.find("\n\n"), errors.size());
    std::string_view line = errors.substr(0, end);
    errors.remove_prefix(std::min(end + 2, errors.size()));
    line = line.substr(0, line.find('\n'));  // the excerpt is in the log
    if (line.empty()) continue;
    std::string properties;
    if (const std::size_t at = line.find(kError); at != std::string_view::npos) {
      properties = location_properties(line.substr(0, at), workspace, folder);
      if (!properties.empty()) line.remove_prefix(at + kError.size());
    }
    out += "::error" + properties + "::" + escaped(line, false) + '\n';
  }
  return out;
}

std::string github_step_summary(const SummaryInput& input) {
  const std::string name = input.plan == nullptr ? "" : input.plan->name;
  const bool failed = has_failed(input.report);
  std::string out = "### dlaunch";
  // The name is in a code span, because it may contain any character.
  if (!name.empty() && name.find('`') == std::string::npos) out += " `" + one_line(name) + '`';
  out += failed                                         ? ": failed\n\n"
         : input.report.outcome.cause == Cause::success ? ": done\n\n"
                                                        : ": stopped\n\n";
  std::string text = summary_text(input);
  if (text.size() > kMostSummary) text.resize(kMostSummary);
  // The text is indented, because a fenced block would end at any line with as many tildes.
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += "    " + text.substr(at, end - at) + '\n';
    at = end + 1;
  }
  return out + '\n';
}

}  // namespace dlaunch
