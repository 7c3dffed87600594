// Whatever bytes a job file of another system contains, reading it gives a job or one useful error;
// and its conversion is the same job.
//
// Input: the file. After a form feed, which no YAML file may contain, each line is a command-line
// option: "step NAME", "input NAME=VALUE", "output NAME=DIR", "argument TEXT".
#include <algorithm>
#include <string>
#include <string_view>

#include "fuzz_check.h"
#include "jobfile/job_reader.h"
#include "planted_bug.h"

namespace dlaunch::fuzz {
namespace {

constexpr std::size_t kMostWords = 8;
constexpr std::size_t kLongestLine = 800;
constexpr std::size_t kMostBytes = 32 * 1024;  // 20 errors

NamedValue named(std::string_view text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view value = text.substr(std::min(equals + 1, text.size()));
  return {std::string(text.substr(0, equals)), std::string(value), "--given here"};
}

JobInput input_of(std::string_view bytes) {
  JobInput input;
  input.file = "job.yaml";
  input.foreign.folder = "/jobs";
  input.foreign.current_folder = "/work";
  // A component's file: the job file itself, so that one corpus covers both forms.
  std::size_t end = std::min(bytes.find('\f'), bytes.size());
  input.text = std::string(bytes.substr(0, end));
  input.foreign.read_file = [text = *input.text](const std::string&) -> Result<std::string> {
    return text;
  };
  for (std::size_t words = 0; end < bytes.size() && words < kMostWords; ++words) {
    bytes.remove_prefix(end + 1);
    end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, space);
    const std::string_view rest = line.substr(std::min(space + 1, line.size()));
    if (rest.find('\0') != std::string_view::npos) continue;  // program arguments cannot contain one
    if (word == "step") input.foreign.step = rest;
    if (word == "input") input.foreign.inputs.push_back(named(rest));
    if (word == "output") input.foreign.outputs.push_back(named(rest));
    if (word == "argument") input.arguments.emplace_back(rest);
  }
  return input;
}

void check_error(const Error& error) {
  check(error.exit_code == exit_code::kJobFile, "an error has exit code 65");
  check_message(error.message, kLongestLine, kMostBytes);
  check(error.message.find("error: ") != std::string::npos, "an error says so", error.message);
}

/// Planted bug: room for seven nodes where there are up to fifteen.
[[maybe_unused]] void planted_bug(const JobSpec& job) {
  if (job.nodes && job.nodes->min > 7 && job.nodes->min < 16)
    fill_buffer(7, static_cast<std::size_t>(job.nodes->min));
}

void check_conversion(const JobInput& input, JobSpec job) {
  const auto text = native_job_text(input, "folder");
  // Arguments are bytes; a job file cannot hold every byte.
  if (!text && text.error().message.find("is not UTF-8") != std::string::npos) return;
  check(text.has_value(), "what can be read can be converted", *input.text);
  // The rest of an expression makes a native file look like a foreign one (docs/limitations.md).
  if (text->find("${{") != std::string::npos) return;
  JobInput native;
  native.text = *text;
  native.file = "native.yaml";
  auto again = read_any_job(native);
  check(again.has_value(), "what was converted can be read",
        again ? "" : again.error().message + "\nin\n" + *text);
  if (job.name.empty()) job.name = "folder";
  job.typed.clear();
  again->spec.typed.clear();
  check(again->spec == job, "what was converted is the same job", *text);
  check(again->notes.empty(), "a native file needs no notes", *text);
}

void read(std::string_view bytes) {
  const JobInput input = input_of(bytes);
  const auto job = read_any_job(input);
  if (!job) return check_error(job.error());
  for (const std::string& note : job->notes) check_message(note, kLongestLine, kLongestLine);
  check(job->spec.command.is_shell || !job->spec.command.argv.empty() || !job->spec.roles.empty(),
        "a job has a command");
  check_conversion(input, job->spec);
  if (kPlanted) planted_bug(job->spec);
}

}  // namespace
}  // namespace dlaunch::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dlaunch::fuzz::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
