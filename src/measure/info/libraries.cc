#include "measure/info/libraries.h"

#include <string_view>

#include "node/mpi/pmix_program.h"
#include "os/program_output.h"
#include "text/strings.h"

namespace dlaunch {

std::vector<LibraryFact> collectives_libraries(std::chrono::milliseconds limit) {
  const auto output = program_output({"/proc/self/exe", "collectives", "--probe"}, limit);
  if (!output) return {{"backends", false, output.error().message}};
  std::vector<LibraryFact> libraries;
  std::string_view text = *output;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    constexpr std::string_view kReady = "ready, ";
    std::string_view says = line.substr(colon + 2);
    const bool is_ready = says.starts_with(kReady);
    if (is_ready) says.remove_prefix(kReady.size());
    libraries.push_back({std::string(line.substr(0, colon)), is_ready, std::string(says)});
  }
  return libraries;
}

std::vector<LibraryFact> found_libraries() {
  constexpr std::chrono::seconds kLimit{10};
  std::vector<LibraryFact> libraries = collectives_libraries(kLimit);
  std::string no_pmix = probe_pmix();
  libraries.push_back({"pmix", no_pmix.empty(), std::move(no_pmix)});
  return libraries;
}

}  // namespace dlaunch
