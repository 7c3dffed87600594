#include "cli/check_local.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/statvfs.h>

#include "cli/gpu_health.h"
#include "cli/machine_facts.h"
#include "cli/print.h"
#include "measure/record.h"
#include "model/environment.h"
#include "os/clock.h"
#include "os/program_output.h"
#include "report/local_check.h"
#include "report/plain_text.h"

extern char** environ;

namespace dlaunch {

namespace {

// Each part takes a second or three; the limits are for drivers that hang, and for busy machines.
constexpr std::chrono::seconds kWholeLimit{9};
constexpr std::chrono::seconds kPartLimit{3};
constexpr std::chrono::seconds kRankLimit{5};

/// What is left until `end`, at most `most`; not nothing, or what is asked would only be killed.
std::chrono::milliseconds left_until(MonotonicTime end, std::chrono::milliseconds most) {
  constexpr std::chrono::milliseconds kLeast{100};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - monotonic_now());
  return std::clamp(left, kLeast, most);
}

/// The measuring process is one of its own: what a GPU's driver does to it does not reach us.
void add_speed(LocalCheck& check, MonotonicTime end) {
  const auto said = program_output({"/proc/self/exe", "speed"}, left_until(end, kWholeLimit));
  if (!said) {
    check.speed_is_late = said.error().exit_code == exit_code::kTimeLimit;
    check.no_speed = check.speed_is_late ? "no time was left, the machine is busy or a driver hangs"
                                         : said.error().message;
    return;
  }
  std::string_view rest = *said;
  std::string last = "the measuring process has said nothing";
  while (!rest.empty()) {
    const std::size_t newline = rest.find('\n');
    const std::string_view line = rest.substr(0, newline);
    rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
    if (auto speed = speed::read_local_speed(line)) check.speed = std::move(speed);
    if (!line.empty()) last = line;
  }
  if (!check.speed) check.no_speed = plain_line(last);
}

/// What a container gives itself, as a rule, and what data loaders and NCCL want.
void add_shared_memory(LocalCheck& check) {
  struct statvfs info {};
  if (::statvfs("/dev/shm", &info) != 0) return check.parts.push_back({"/dev/shm", "not there"});
  constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
  constexpr std::uint64_t kLittle = 512;
  const std::uint64_t size = std::uint64_t{info.f_blocks} * info.f_frsize / kMebibyte;
  check.parts.push_back(
      {"/dev/shm", std::to_string(size) + " MiB" +
                       (size < kLittle ? ": little for data loaders and NCCL (in a container: "
                                         "--shm-size=1g)"
                                       : "")});
}

/// Whether measurements with traffic (dlaunch bench) can be had here: "mpi: ready, Open MPI
/// v4.1.4", or why not.
void add_backends(LocalCheck& check, MonotonicTime end) {
  const auto said =
      program_output({"/proc/self/exe", "collectives", "--probe"}, left_until(end, kPartLimit));
  if (!said) return check.parts.push_back({"backends", said.error().message});
  std::string_view rest = *said;
  while (!rest.empty()) {
    const std::size_t newline = rest.find('\n');
    const std::string_view line = rest.substr(0, newline);
    rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    LocalCheck::Part part{std::string(line.substr(0, colon)), std::string(line.substr(colon + 2))};
    if (part.name == "nccl" && check.info.facts.gpus.empty())
      part.says = "not tried: there is no GPU";
    check.parts.push_back(std::move(part));
  }
}

/// Our environment without the words of whoever has started this as one of several ranks.
Environment environment_of_one() {
  Environment environment = environment_from_block(environ);
  for (const char* name : {"PMI_FD", "PMI_RANK", "PMI_SIZE", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"})
    environment.erase(name);
  return environment;
}

/// The measuring ranks' own program, as a rank that is alone (collectives/program/mode_alone.cc).
void add_one_rank(LocalCheck& check, MonotonicTime end) {
  const bool is_ready = std::any_of(check.parts.begin(), check.parts.end(), [](const auto& part) {
    return part.name == "nccl" && part.says.starts_with("ready");
  });
  if (!is_ready || !check.speed || check.speed->gpus.empty()) return;
  LocalCheck::OneRank rank;
  const auto limit = left_until(end, kRankLimit);
  const Environment environment = environment_of_one();
  const auto said = program_output(
      {"/proc/self/exe", "collectives", "--backend", "nccl", "alone", "timeout_ms=60000"}, limit,
      &environment);
  rank.is_late = !said && said.error().exit_code == exit_code::kTimeLimit;
  rank.problem = said ? "it has said nothing" : said.error().message;
  std::string_view rest = said ? std::string_view(*said) : std::string_view();
  bool is_measured = false;
  while (!rest.empty()) {
    const std::size_t newline = rest.find('\n');
    const std::string_view line = rest.substr(0, newline);
    rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
    const auto record = measure::read_record(line);
    if (record && record->kind() == "header") rank.library = record->text("backend");
    if (record && record->kind() == "alone") {
      rank.gbyte_s = record->number("gbytes_per_s");
      rank.wrong = record->number("wrong");
      is_measured = true;
    }
    if (!record && !line.empty()) rank.problem = plain_line(line);
  }
  if (is_measured) rank.problem.clear();
  check.one_rank = std::move(rank);
}

}  // namespace

int check_local(const LocalCheckOptions& options) {
  const MonotonicTime begin = monotonic_now();
  const MonotonicTime end = begin + kWholeLimit;
  LocalCheck check;
  check.expected_gpus = options.expected_gpus;
  read_machine(check.info);
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
    check.info.facts.cuda_visible_devices = visible;  // what CUDA counts is of these only
  add_gpu_health(check.info, kPartLimit);
  add_shared_memory(check);
  add_backends(check, end);
  add_speed(check, end);
  add_one_rank(check, end);
  check.seconds = std::chrono::duration<double>(monotonic_now() - begin).count();
  const int printed = print_text(options.json ? local_check_json(check) : local_check_text(check));
  return local_findings(check).empty() ? printed : exit_code::kPreflight;
}

}  // namespace dlaunch
