#include "agent/mpirun_question.h"

#include <chrono>

#include <unistd.h>

#include "agent/carried_environment.h"
#include "agent/environment_block.h"
#include "os/program_output.h"
#include "os/spawn.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kLimit{5};
constexpr std::size_t kMostText = 4096;

/// Path of the program; empty: there is none that may be executed.
std::string find(const std::string& name, const std::string& search_path) {
  const Program program = find_program(name, search_path, "/");
  if (program.candidates.empty()) return {};
  const std::string& last = program.candidates.back();  // the search ends at one that may be run
  return ::access(last.c_str(), X_OK) == 0 ? last : std::string();
}

}  // namespace

void find_mpirun(const wire::FactsRequest& request, const Environment& login, NodeFacts& facts) {
  if (request.mpirun.empty()) return;
  Environment environment = carried_environment(login, request.carried, "/", folder_exists);
  if (request.search_path) environment["PATH"] = *request.search_path;
  const std::string path = find_variable(environment, "PATH").value_or(kDefaultSearchPath);
  for (const std::string& name : request.mpirun) {
    facts.mpirun = find(name, path);
    if (facts.mpirun.empty()) continue;
    const auto text = program_output({facts.mpirun, "--version"}, kLimit, &environment);
    facts.mpirun_version = text ? text->substr(0, kMostText) : text.error().message;
    return;
  }
}

}  // namespace dlaunch
