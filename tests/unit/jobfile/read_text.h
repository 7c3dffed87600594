// Helpers to read a job in tests.
#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "jobfile/job_reader.h"

namespace dlaunch {

inline Result<JobSpec> read_text(std::string text, std::vector<Override> overrides = {},
                                 std::vector<std::string> arguments = {}) {
  return read_job({std::move(text), "job.yaml", std::move(overrides), std::move(arguments)});
}

inline Result<JobSpec> read_without_file(std::vector<Override> overrides,
                                         std::vector<std::string> arguments) {
  return read_job({std::nullopt, "", std::move(overrides), std::move(arguments)});
}

inline Override set(std::string key, std::string value) {
  std::string origin = "--set " + key + "=" + value;
  return {std::move(key), std::move(value), std::move(origin)};
}

inline std::string test_data(const std::string& name) {
  std::ifstream file(std::string(DLAUNCH_TEST_DATA) + "/jobs/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The message of the error, "" for a valid job.
inline std::string message_of(const Result<JobSpec>& job) {
  return job ? "" : job.error().message;
}

/// Only the lines with the errors, without the excerpts.
inline std::vector<std::string> errors_of(const Result<JobSpec>& job) {
  std::vector<std::string> lines;
  const std::string message = message_of(job);
  for (std::size_t begin = 0; begin < message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    const std::string line = message.substr(begin, end - begin);
    if (line.find("error: ") != std::string::npos) lines.push_back(line);
    begin = end + 1;
  }
  return lines;
}

}  // namespace dlaunch
