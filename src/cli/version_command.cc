#include <memory>

#include "cli/commands.h"
#include "cli/print.h"
#include "measure/info/libraries.h"
#include "measure/run/collectives_program.h"
#include "node/mpi/pmix_program.h"
#include "os/build_id.h"
#include "os/proc_file.h"
#include "text/strings.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch version             the same as dlaunch --version\n"
    "  dlaunch version --verbose   for a bug report: build, features, libraries found here";

void add_line(std::string& out, std::string_view label, std::string_view text) {
  constexpr std::size_t kLabel = 11;
  append_wrapped(out, padded(label, kLabel), std::string(kLabel, ' '), text);
}

std::string features() {
  std::vector<std::string> all;
  if (pmix_program()) all.emplace_back("PMIx");
  if (is_built_in(MeasureBackend::mpi)) all.emplace_back("collectives over MPI");
  if (is_built_in(MeasureBackend::nccl)) all.emplace_back("collectives over NCCL");
  return all.empty() ? "no optional ones" : joined(all);
}

int print_version(bool verbose) {
  std::string out = "dlaunch " DLAUNCH_VERSION "\n";
  if (!verbose) return print_text(out);
  add_line(out, "program", link_target("/proc/self/exe"));
  add_line(out, "build", own_build_id());
  add_line(out, "features", features());
  for (const LibraryFact& one : found_libraries()) {
    const std::string found = one.says.empty() ? "found" : "found, " + one.says;
    add_line(out, one.name, one.is_ready ? found : one.says);
  }
  return print_text(out);
}

}  // namespace

Subcommand version_command() {
  auto verbose = std::make_shared<bool>(false);
  const auto describe = [verbose](CommandOptions options) {
    options.flag("-v,--verbose", *verbose,
                 "Also the build, its features, and libraries found here");
  };
  return {"version", "Print the version of dlaunch, and how it was built", kFooter, describe,
          [verbose] { return print_version(*verbose); }};
}

}  // namespace dlaunch
