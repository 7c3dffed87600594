#include "cli/collectives_command.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cli/collectives_rank.h"
#include "cli/print.h"

namespace dlaunch {

namespace {

constexpr std::array<std::pair<MeasureBackend, const char*>, 2> kBackends{
    {{MeasureBackend::mpi, "mpi"}, {MeasureBackend::nccl, "nccl"}}};

/// A line each.
std::string on_one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_not_of(" \n", at), text.size());
    text.replace(at, end - at, " ");
  }
  return text;
}

int probe() {
  std::string text;
  for (const auto& [backend, name] : kBackends) {
    const auto library = probe_collectives(backend);
    text += std::string(name) + ": " +
            (library ? "ready, " + *library : on_one_line(library.error().message)) + '\n';
  }
  return print_text(text);
}

}  // namespace

bool is_collectives_command(const std::vector<std::string>& words) {
  return !words.empty() && words.front() == "collectives";
}

int collectives_command(const std::vector<std::string>& words) {
  if (words.size() == 2 && words[1] == "--probe") return probe();
  if (words.size() >= 4 && words[1] == "--backend") {
    for (const auto& [backend, name] : kBackends) {
      if (words[2] == name) return run_collectives(backend, {words.begin() + 1, words.end()});
    }
  }
  return print_error(
      {exit_code::kUsage, "dlaunch collectives is started by dlaunch itself: try dlaunch bench"});
}

std::vector<std::string> collectives_words(MeasureBackend backend, const std::string& mode,
                                           const measure::Settings& settings) {
  // Of the agent, which starts the rank by this path: proc_pid_exe(5).
  std::vector<std::string> words{"/proc/self/exe", "collectives", "--backend",
                                 backend == MeasureBackend::mpi ? "mpi" : "nccl", mode};
  for (std::string& word : settings.words()) words.push_back(std::move(word));
  return words;
}

}  // namespace dlaunch
