#include "jobfile/dialects/container_keys.h"

#include <algorithm>

#include "jobfile/scalar.h"

namespace dlaunch::jobfile {

namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const auto first = text.find_first_not_of(" \t\n", at);
    if (first == std::string_view::npos) break;
    at = std::min(text.find_first_of(" \t\n", first), text.size());
    words.emplace_back(text.substr(first, at - first));
  }
  return words;
}

}  // namespace

// docker-run(1)
void read_docker_arguments(Translation& translation, const NativeJob::Path& path,
                           const PlacedText& arguments, std::vector<PlacedText>& mounts) {
  const std::vector<std::string> words = words_of(arguments.text);
  std::string rest;
  const auto set_size = [&](const std::string& text) {
    NativeJob::Path size = path;
    size.emplace_back("shm_size");
    if (parse_size(text)) return translation.job.text(size, text, arguments.place);
    translation.diagnostics.error(
        arguments.place, "--shm-size must be a size such as 512m or 16g, not " + in_quotes(text));
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_option = word == "-v" || word == "--volume";
    if (is_option && i + 1 < words.size()) {
      mounts.push_back({words[++i], arguments.place});
    } else if (word.starts_with("--volume=")) {
      mounts.push_back({word.substr(9), arguments.place});
    } else if (word.starts_with("--shm-size=")) {
      set_size(word.substr(11));
    } else if (word == "--shm-size" && i + 1 < words.size()) {
      set_size(words[++i]);
    } else {
      rest += (rest.empty() ? "" : " ") + word;
    }
  }
  if (!rest.empty())
    translation.note_at(arguments.place, "docker's options are not passed on: " + rest);
}

}  // namespace dlaunch::jobfile
