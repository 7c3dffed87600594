#include "jobfile/launch_lines/draft_yaml.h"

#include "jobfile/job_reader.h"
#include "jobfile/scalar.h"
#include "jobfile/source.h"
#include "text/plain_text.h"
#include "text/strings.h"
#include "text/wrap.h"

namespace dlaunch::jobfile {

std::string commented(std::string_view text, std::string_view first, std::string_view rest) {
  constexpr std::size_t kColumns = 100;
  std::string out;
  append_wrapped(out, first, rest, plain_line(text), kColumns);
  return out;
}

std::string commented_yaml(std::string_view yaml) {
  std::string out;
  while (!yaml.empty()) out += "# " + std::string(take_line(yaml)) + '\n';
  return out;
}

std::string text_key(const NativeJob::Path& path, const std::string& value) {
  return yaml_of([&](NativeJob& job) { job.text(path, value, {}); });
}

/// Writes a command with quotes or backslashes as a block, which needs no escapes.
std::string command_key(const std::string& value) {
  const bool is_simple = value.find_first_of("\"\\") == std::string::npos;
  const bool is_block = !is_simple && value.find_first_of("\n\r\t") == std::string::npos &&
                        check_text(value).empty() && !value.starts_with(' ');
  return is_block ? "command: |-\n  " + value + '\n' : text_key({"command"}, value);
}

std::string counted_key(std::string_view key, const std::string& value) {
  const auto number = parse_integer(value);
  return number ? yaml_of([&](NativeJob& job) { job.number({key}, *number, {}); })
                : text_key({key}, value);
}

std::string list_key(std::string_view key, const std::vector<std::string>& values) {
  std::vector<LocatedText> texts;
  for (const std::string& value : values) texts.push_back({value, {}});
  return yaml_of([&](NativeJob& job) { job.texts({key}, texts, {}); });
}

std::string mistake_in(const std::string& yaml) {
  const bool is_command = yaml.starts_with("command:");
  const auto job = read_job({(is_command ? "" : "command: x\n") + yaml, "job.yaml", {}, {}});
  if (job) return "";
  std::string_view text = job.error().message;
  constexpr std::string_view kError = "error: ";
  const auto at = text.find(kError);
  if (at != std::string_view::npos) text.remove_prefix(at + kError.size());
  return first_line(text);
}

}  // namespace dlaunch::jobfile
