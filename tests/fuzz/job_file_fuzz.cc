// Whatever bytes a job file contains, reading it gives a job or one useful error.
//
// Input: the file. After a form feed, which no YAML file may contain, each line is a `--set
// KEY=VALUE`.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz_check.h"
#include "jobfile/job_reader.h"
#include "jobfile/source.h"
#include "model/signal_names.h"
#include "planted_bug.h"

namespace dlaunch::fuzz {
namespace {

constexpr std::string_view kFile = "job.yaml";
constexpr std::size_t kMostOverrides = 8;
// 80 columns of up to four bytes for the excerpts, plus messages that quote two texts.
constexpr std::size_t kLongestLine = 800;
constexpr std::size_t kMostBytes = 32 * 1024;  // for 20 errors

JobInput input_of(std::string_view bytes) {
  JobInput input;
  input.file = kFile;
  std::size_t end = std::min(bytes.find('\f'), bytes.size());
  input.text = std::string(bytes.substr(0, end));
  while (end < bytes.size() && input.overrides.size() < kMostOverrides) {
    bytes.remove_prefix(end + 1);
    end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    input.overrides.push_back(
        {std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)), "--set here"});
  }
  return input;
}

/// The number that `text` begins with, which is then removed; nullopt: none.
std::optional<std::size_t> take_number(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > 9) return std::nullopt;
  const std::size_t number = std::stoul(std::string(text.substr(0, digits)));
  text.remove_prefix(digits);
  return number;
}

/// Each "job.yaml:LINE:COLUMN: error:" points at a character of the file, or just after a line.
void check_positions(std::string_view message, std::string_view text) {
  const auto last = jobfile::locate(text, static_cast<std::uint32_t>(text.size()));
  std::size_t found = 0;
  for (std::size_t at = 0; at < message.size();) {
    std::string_view line = message.substr(at, message.find('\n', at) - at);
    at += line.size() + 1;
    if (line.starts_with("--set here: error: ") || line.starts_with("job.yaml: error: ")) ++found;
    if (!line.starts_with("job.yaml:")) continue;
    line.remove_prefix(kFile.size() + 1);
    const auto number = take_number(line);
    if (!number) continue;  // job.yaml: error: about the file as a whole
    check(*number >= 1 && *number <= last.line, "the line of an error is in the file", message);
    check(line.starts_with(':'), "a column follows the line", message);
    line.remove_prefix(1);
    const auto column = take_number(line);
    check(column && line.starts_with(": error: "), "an error has a position", message);
    std::size_t start = 0;
    for (std::size_t n = 1; n < *number; ++n) start = text.find('\n', start) + 1;
    const std::size_t bytes = std::min(text.find('\n', start), text.size()) - start;
    check(*column >= 1 && *column <= bytes + 1, "the column of an error is in its line", message);
    ++found;
  }
  check(found > 0, "an error says where it is", message);
}

void check_environment(const Environment& environment) {
  for (const auto& [name, value] : environment) {
    check(!name.empty() && name.find('=') == std::string::npos, "a variable has a name", name);
    check((name + value).find('\0') == std::string::npos, "a variable has no NUL", name);
  }
}

/// The invariants that users of a job rely on.
void check_job(const JobSpec& job) {
  const bool roles_have_commands =
      !job.roles.empty() &&
      std::all_of(job.roles.begin(), job.roles.end(),
                  [](const RoleSpec& role) { return role.command.has_value(); });
  const bool has_command =
      job.command.is_shell ? !job.command.line.empty() : !job.command.argv.empty();
  check(has_command || roles_have_commands, "a job has a command, or each of its roles has");
  check(signal_number(job.stop_signal).has_value(), "a stop signal is one", job.stop_signal);
  check(job.timeouts.lost_after > job.timeouts.fence_after, "lost_after is behind fence_after");
  check(job.restart.backoff_min <= job.restart.backoff_max, "a back-off grows");
  check(!job.processes || *job.processes >= 1, "processes are at least 1");
  check(!job.nodes || (job.nodes->min >= 1 && job.nodes->min <= job.nodes->max), "nodes");
  check_environment(job.env);
  for (const RoleSpec& role : job.roles) {
    check(role.count >= 1, "a role that is there has a process", role.name);
    check_environment(role.env);
  }
}

/// Planted bug: room for 16 bytes of a command that is one word.
[[maybe_unused]] void planted_bug(const JobSpec& job) {
  const std::string& line = job.command.line;
  if (job.command.is_shell && line.find(' ') == std::string::npos) fill_buffer(16, line.size());
}

void read(std::string_view bytes) {
  const JobInput input = input_of(bytes);
  const Result<JobSpec> job = read_job(input);
  if (!job) {
    check(job.error().exit_code == exit_code::kJobFile, "an error has exit code 65");
    check_message(job.error().message, kLongestLine, kMostBytes);
    check_positions(job.error().message, *input.text);
  } else {
    check_job(*job);
    // Only for some inputs: reading takes nearly all of the time.
    if (bytes.size() % 8 == 0) check(read_job(input) == job, "reading twice gives the same job");
    if (kPlanted) planted_bug(*job);
  }
}

}  // namespace
}  // namespace dlaunch::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dlaunch::fuzz::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
