#include "measure/info/libraries.h"

#include <string_view>

#include "node/mpi/pmix_program.h"
#include "node/nvml/nvml_image.h"
#include "os/memory_program.h"
#include "os/program_output.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

/// `says`: what a program that tries the library prints: "ready, VERSION", or what is missing.
LibraryFact fact_of(std::string_view name, std::string_view says) {
  constexpr std::string_view kReady = "ready, ";
  const bool is_ready = says.starts_with(kReady);
  if (is_ready) says.remove_prefix(kReady.size());
  return {std::string(name), is_ready, std::string(says)};
}

LibraryFact nvml_library(std::chrono::milliseconds limit) {
  const std::string name = "nvml";
  const CarriedProgram image = nvml::helper_image();
  if (image.size == 0) return {name, false, "dlaunch was built without dlaunch-nvml"};
  const auto program = memory_program("dlaunch-nvml", image);
  if (!program) return {name, false, program.error().message};
  const auto said = program_output({path_of(*program), "--probe"}, limit);
  if (!said) return {name, false, said.error().message};
  const std::string first = first_line(*said);
  std::string_view line = first;
  constexpr std::string_view kOwnName = "dlaunch-nvml: ";
  if (line.starts_with(kOwnName)) line.remove_prefix(kOwnName.size());
  return fact_of(name, line.empty() ? "dlaunch-nvml printed nothing" : line);
}

}  // namespace

std::vector<LibraryFact> collectives_libraries(std::chrono::milliseconds limit) {
  const auto output = program_output({"/proc/self/exe", "collectives", "--probe"}, limit);
  if (!output) return {{"backends", false, output.error().message}};
  std::vector<LibraryFact> libraries;
  std::string_view text = *output;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    libraries.push_back(fact_of(line.substr(0, colon), line.substr(colon + 2)));
  }
  return libraries;
}

std::vector<LibraryFact> found_libraries() {
  constexpr std::chrono::seconds kLimit{10};
  std::vector<LibraryFact> libraries = collectives_libraries(kLimit);
  libraries.push_back(nvml_library(kLimit));
  std::string no_pmix = probe_pmix();
  libraries.push_back({"pmix", no_pmix.empty(), std::move(no_pmix)});
  return libraries;
}

}  // namespace dlaunch
