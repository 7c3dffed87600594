// Writes lines of a job file, and comments in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jobfile/dialects/native_job.h"
#include "jobfile/document.h"
#include "jobfile/yaml_writer.h"

namespace dlaunch::jobfile {

/// Lines of a comment. Line breaks and control characters of the text become "?".
[[nodiscard]] std::string commented(std::string_view text, std::string_view first = "# ",
                                    std::string_view rest = "# ");

/// Each line as a comment.
[[nodiscard]] std::string commented_yaml(std::string_view yaml);

/// The keys that `set` sets in a job, as YAML.
template <class Set>
[[nodiscard]] std::string yaml_of(const Set& set) {
  Document document;
  NativeJob job(document);
  set(job);
  return write_yaml(document, job.root());
}

/// A key with its value; counted_key() writes a number where the value is one.
[[nodiscard]] std::string text_key(const NativeJob::Path& path, const std::string& value);
[[nodiscard]] std::string counted_key(std::string_view key, const std::string& value);
[[nodiscard]] std::string list_key(std::string_view key, const std::vector<std::string>& values);
[[nodiscard]] std::string command_key(const std::string& value);

/// Why these lines cannot be in a job file; empty: they can.
[[nodiscard]] std::string mistake_in(const std::string& yaml);

}  // namespace dlaunch::jobfile
