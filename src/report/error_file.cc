#include "report/error_file.h"

#include <nlohmann/json.hpp>

namespace dlaunch {

namespace {

constexpr std::size_t kMaxFile = std::size_t{1} << 20;

std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Evidence read_error_file(std::string_view json) {
  if (json.size() > kMaxFile) return {};
  const nlohmann::json file = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object() || !file.contains("message")) return {};
  const nlohmann::json& message = file["message"];
  // Older writers put the text there directly.
  const std::string text =
      message.is_object() ? text_of(message, "message") : text_of(file, "message");
  std::string stack;
  if (message.is_object() && message.contains("extraInfo") && message["extraInfo"].is_object()) {
    stack = text_of(message["extraInfo"], "py_callstack");
  }
  Evidence evidence = find_evidence(stack);
  if (!evidence.exception) evidence.exception = find_evidence(text).exception;
  if (!evidence.exception && !text.empty()) {
    const Evidence lines = find_evidence(text);
    if (!lines.last_lines.empty()) evidence.exception = lines.last_lines.front();
  }
  evidence.last_lines.clear();
  return evidence;
}

Evidence evidence_of(const std::string& attempt_folder, unsigned rank, std::size_t tail) {
  const std::string base = attempt_folder + "/rank-" + std::to_string(rank);
  Evidence evidence = find_evidence(read_tail(base + ".err", tail));
  if (evidence.last_lines.empty()) {
    evidence = find_evidence(read_tail(base + ".out", tail));
    evidence.of_stdout = !evidence.last_lines.empty();
  }
  const Evidence recorded = read_error_file(read_tail(base + ".error.json", kMaxFile));
  if (recorded.exception) {
    evidence.exception = recorded.exception;
    evidence.where = recorded.where;
    evidence.source = recorded.source;
    evidence.lines_after = 0;  // it is written when the program ends
  }
  return evidence;
}

}  // namespace dlaunch
