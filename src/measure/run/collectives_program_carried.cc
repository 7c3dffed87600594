#include "measure/run/collectives_program.h"

#include <cerrno>
#include <chrono>
#include <sstream>
#include <string_view>

#include <unistd.h>

#include "measure/collectives/program/collectives_image.h"
#include "os/memory_program.h"
#include "os/program_output.h"

namespace dlaunch {

namespace {

// Its libraries may be on a slow network file system.
constexpr std::chrono::seconds kProbeLimit{60};

struct Kind {
  const char* backend;
  const char* program;
  const char* missing;  // why dlaunch carries no such program
};

constexpr Kind kMpi{"mpi", "dlaunch-collectives-mpi", "this dlaunch was built without MPI"};
constexpr Kind kNccl{"nccl", "dlaunch-collectives-nccl",
                     "this dlaunch was built without NCCL (nccl.h and the CUDA toolkit were not "
                     "installed)"};

const Kind& kind_of(MeasureBackend backend) {
  return backend == MeasureBackend::mpi ? kMpi : kNccl;
}

CarriedProgram image_of(MeasureBackend backend) {
  return collectives::image(backend == MeasureBackend::mpi ? 0 : 1);
}

/// What ld.so(8) prints when a library is missing: "libmpi.so.40" and the reason; else empty.
struct MissingLibrary {
  std::string name;
  std::string why;
};

MissingLibrary missing_library(const std::string& said) {
  constexpr std::string_view kWords = "error while loading shared libraries: ";
  const std::size_t at = said.find(kWords);
  if (at == std::string::npos) return {};
  const std::string line =
      said.substr(at + kWords.size(), said.find('\n', at) - at - kWords.size());
  const std::size_t colon = line.find(": ");
  if (colon == std::string::npos) return {};
  return {line.substr(0, colon), line.substr(colon + 2)};
}

/// "libmpi.so.40 is not on this node: install ..."; in short lines, because a report cuts long
/// ones.
std::string advice_for(const MissingLibrary& missing) {
  const std::string name = missing.name.substr(missing.name.rfind('/') + 1);
  const bool is_absent = missing.why.find("No such file") != std::string::npos;
  const bool is_open_mpi = name == "libmpi.so.40";
  return name +
         (is_absent ? " is not on this node: install "
                    : " on this node cannot be used (" + missing.why + "): install ") +
         (is_open_mpi ? "Open MPI 4 or 5\n         (Debian, Ubuntu: libopenmpi3)"
                      : "the MPI\n         that this dlaunch was built with") +
         ", or add its folder to LD_LIBRARY_PATH";
}

/// The program as an open file, after a check that the dynamic linker finds its libraries.
Result<UniqueFd> ready_program(MeasureBackend backend) {
  const Kind& kind = kind_of(backend);
  const CarriedProgram image = image_of(backend);
  if (image.size == 0) return fail(exit_code::kPreflight, kind.missing);
  auto file = memory_program(kind.program, image);
  if (!file) return file;
  const auto said = program_output({path_of(*file), "--probe"}, kProbeLimit);
  if (!said) return tl::unexpected(said.error());
  if (said->empty()) return file;
  const MissingLibrary missing = missing_library(*said);
  if (missing.name.empty())
    return fail(exit_code::kPreflight, std::string(kind.program) + " cannot run: " + *said);
  return fail(exit_code::kPreflight, advice_for(missing));
}

}  // namespace

bool is_built_in(MeasureBackend backend) {
  return image_of(backend).size != 0;
}

Result<std::string> probe_collectives(MeasureBackend backend) {
  constexpr std::string_view kReady = "ready, ";
  const auto file = ready_program(backend);
  if (!file) return tl::unexpected(file.error());
  // The program loads NCCL at run time: only a try shows whether NCCL is on this machine.
  const Kind& kind = kind_of(backend);
  const auto said = program_output({path_of(*file), "--version", kind.backend}, kProbeLimit);
  if (!said) return tl::unexpected(said.error());
  std::istringstream lines(*said);  // libraries may print lines as well
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kReady)) return line.substr(kReady.size());
    if (!line.empty()) last = line;
  }
  if (last.empty())
    return fail(exit_code::kPreflight,
                std::string(kind.program) + " cannot run: it printed nothing");
  const std::string prefix = std::string(kind.backend) + ": ";  // "nccl: no such library"
  return fail(exit_code::kPreflight, last.starts_with(prefix) ? last.substr(prefix.size()) : last);
}

Result<int> run_collectives(MeasureBackend backend, const std::vector<std::string>& words) {
  const auto file = ready_program(backend);
  if (!file) return tl::unexpected(file.error());
  const char* const name = kind_of(backend).program;
  std::vector<const char*> argv{name};
  argv.reserve(words.size() + 2);
  for (const std::string& word : words) argv.push_back(word.c_str());
  argv.push_back(nullptr);
  const std::string path = "/proc/self/fd/" + std::to_string(file->get());
  ::execve(path.c_str(), const_cast<char**>(argv.data()), environ);
  return fail(exit_code::kPreflight, std::string(name) + " cannot run: " + errno_text(errno));
}

}  // namespace dlaunch
