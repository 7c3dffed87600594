#include "node/mpi/mpirun_probe.h"

#include <chrono>

#include "node/ranks/carried_environment.h"
#include "node/ranks/environment_block.h"
#include "os/spawn.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kLimit{5};
constexpr std::size_t kMostText = 4096;

}  // namespace

void MpirunProbe::ask(const wire::FactsRequest& request, const Environment& login,
                      std::function<void(const Answer&)> done) {
  running_.reset();
  if (request.mpirun.empty()) return done({});
  Environment environment = carried_environment(login, request.carried, "/", folder_exists);
  if (request.search_path) environment["PATH"] = *request.search_path;
  const std::string path = find_variable(environment, "PATH").value_or(kDefaultSearchPath);
  Answer answer;
  for (const std::string& name : request.mpirun) {
    answer.program = executable_of(find_program(name, path, "/"));
    if (!answer.program.empty()) break;
  }
  if (answer.program.empty()) return done({});
  running_ = std::make_unique<RunningProgram>(
      loop_,
      ProgramCall{.argv = {answer.program, "--version"},
                  .limit = kLimit,
                  .environment = std::move(environment),
                  .joined = true},
      [answer, done = std::move(done)](const Result<ProgramOutput>& said) mutable {
        answer.version = said ? said->out.substr(0, kMostText) : said.error().message;
        done(answer);
      });
}

}  // namespace dlaunch
