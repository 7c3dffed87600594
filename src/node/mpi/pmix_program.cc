#include "node/mpi/pmix_program.h"

#include <utility>

#include <unistd.h>

#include "model/environment.h"
#include "node/pmix/helper_protocol.h"
#include "node/pmix/pmix_image.h"
#include "os/memory_program.h"

namespace dlaunch {

namespace {

// Loading the program's libraries takes some 10 ms, and more from a network file system.
constexpr std::chrono::seconds kProbeLimit{10};

ProgramCall probe_call(const UniqueFd& program) {
  Environment environment;
  for (const std::string& entry : pmix_environment()) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos)
      environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return {.argv = {path_of(program), "--probe"},
          .limit = kProbeLimit,
          .environment = std::move(environment),
          .joined = true};
}

/// Why dlaunch-pmix cannot serve; empty: it can.
std::string refusal_in(const Result<ProgramOutput>& said) {
  if (!said) return why_no_pmix(said.error().message);
  const bool serves = said->out.find(pmix::kProbeAnswer) != std::string::npos;
  return serves ? std::string() : why_no_pmix(said->out);
}

}  // namespace

Result<UniqueFd> pmix_program() {
  const CarriedProgram image = pmix::helper_image();
  if (image.size == 0) {
    return fail(
        exit_code::kPreflight,
        "this dlaunch was built without MPI support (OpenPMIx, libpmix-dev, was not installed)");
  }
  return memory_program(kPmixProgram, image);
}

std::vector<std::string> pmix_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool is_setting = text.starts_with("PMIX_MCA_");
    if (is_setting || !(text.starts_with("PMIX_") || text.starts_with("PMI_")))
      entries.emplace_back(text);
  }
  return entries;
}

/// `said` may begin: "dlaunch-pmix: error while loading shared libraries: libpmix.so.2: cannot open
/// shared object file: No such file or directory" (ld.so(8)).
std::string why_no_pmix(std::string_view said) {
  constexpr std::string_view kLoader = "error while loading shared libraries: ";
  std::string line(said.substr(0, said.find('\n')));
  std::string why = line.empty() ? "it ended at once" : line;
  if (const auto at = line.find(kLoader); at != std::string::npos) {
    why = line.substr(at + kLoader.size());
    const std::string file = why.substr(0, why.find(':'));
    if (why.find("cannot open shared object file") != std::string::npos) why = file + " not found";
  }
  std::string text = std::string(kPmixProgram) + " cannot run: " + why;
  if (why.find("libpmix") != std::string::npos)
    text += "; install OpenPMIx (libpmix2 in Debian), or start the program with mpirun";
  return text;
}

std::string probe_pmix() {
  const auto program = pmix_program();
  return program ? refusal_in(run_program(probe_call(*program))) : program.error().message;
}

void PmixProbe::ask(bool wanted, std::function<void(std::string)> done) {
  running_.reset();
  program_.reset();
  if (!wanted) return done({});
  auto program = pmix_program();
  if (!program) return done(program.error().message);
  program_ = std::move(*program);
  running_ = std::make_unique<RunningProgram>(
      loop_, probe_call(program_),
      [done = std::move(done)](const Result<ProgramOutput>& said) { done(refusal_in(said)); });
}

}  // namespace dlaunch
