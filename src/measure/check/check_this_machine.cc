#include "measure/check/check_this_machine.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <sys/statvfs.h>
#include <unistd.h>

#include "measure/figures/record.h"
#include "measure/info/inspect_machine.h"
#include "measure/info/libraries.h"
#include "model/environment.h"
#include "os/clock.h"
#include "os/program_output.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

// Each part takes one to three seconds; the limits are for drivers that hang and for busy machines.
constexpr std::chrono::seconds kWholeLimit{9};
constexpr std::chrono::seconds kPartLimit{3};
constexpr std::chrono::seconds kRankLimit{5};

/// The time left until `end`, at most `most`, but always enough to start a program.
std::chrono::milliseconds left_until(MonotonicTime end, std::chrono::milliseconds most) {
  constexpr std::chrono::milliseconds kLeast{100};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - monotonic_now());
  return std::clamp(left, kLeast, most);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    if (const std::string_view line = take_line(text); !line.empty()) lines.push_back(line);
  }
  return lines;
}

/// In a separate process, so that a failure in a GPU driver does not affect this one.
void add_speed(LocalCheck& check, MonotonicTime end) {
  const auto output = program_output({"/proc/self/exe", "speed"}, left_until(end, kWholeLimit));
  if (!output) {
    check.speed_is_late = output.error().exit_code == exit_code::kTimeLimit;
    check.no_speed = check.speed_is_late
                         ? "no time was left: the machine is busy, or a driver hangs"
                         : output.error().message;
    return;
  }
  std::string_view last = "the measuring process printed nothing";
  for (const std::string_view line : lines_of(*output)) {
    if (auto speed = speed::read_local_speed(line)) check.speed = std::move(speed);
    last = line;
  }
  if (!check.speed) check.no_speed = plain_line(last);
}

/// Containers often have little shared memory; data loaders and NCCL need more.
void add_shared_memory(LocalCheck& check) {
  struct statvfs info {};
  if (::statvfs("/dev/shm", &info) != 0) return check.parts.push_back({"/dev/shm", "missing"});
  constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
  constexpr std::uint64_t kLittle = 512;
  const std::uint64_t size = std::uint64_t{info.f_blocks} * info.f_frsize / kMebibyte;
  check.parts.push_back(
      {"/dev/shm", std::to_string(size) + " MiB" +
                       (size < kLittle ? ": too little for data loaders and NCCL (in a container: "
                                         "--shm-size=1g)"
                                       : "")});
}

/// Whether `dlaunch bench` can measure on this machine: "ready, Open MPI v4.1.4", or the reason why
/// not.
void add_backends(LocalCheck& check, MonotonicTime end) {
  for (LibraryFact& one : collectives_libraries(left_until(end, kPartLimit))) {
    const bool not_tried = one.name == "nccl" && check.info.facts.gpus.empty();
    check.parts.push_back({std::move(one.name), not_tried      ? "not tried: there is no GPU"
                                                : one.is_ready ? "ready, " + one.says
                                                               : std::move(one.says)});
  }
}

/// Our environment without the variables that would make the program a rank of a larger world.
Environment environment_of_one() {
  Environment environment = environment_from_block(environ);
  for (const char* name : {"PMI_FD", "PMI_RANK", "PMI_SIZE", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"})
    environment.erase(name);
  return environment;
}

/// Runs the program of measuring ranks as a single rank
/// (measure/collectives/program/mode_alone.cc).
void add_one_rank(LocalCheck& check, MonotonicTime end) {
  const bool is_ready = std::any_of(check.parts.begin(), check.parts.end(), [](const auto& part) {
    return part.name == "nccl" && part.says.starts_with("ready");
  });
  if (!is_ready || !check.speed || check.speed->gpus.empty()) return;
  LocalCheck::OneRank rank;
  const Environment environment = environment_of_one();
  const auto output = program_output(
      {"/proc/self/exe", "collectives", "--backend", "nccl", "alone", "timeout_ms=60000"},
      left_until(end, kRankLimit), &environment);
  rank.is_late = !output && output.error().exit_code == exit_code::kTimeLimit;
  rank.problem = output ? "the measuring rank printed nothing" : output.error().message;
  bool is_measured = false;
  for (const std::string_view line : lines_of(output ? std::string_view(*output) : "")) {
    const auto record = measure::read_record(line);
    if (!record) rank.problem = plain_line(line);
    if (record && record->kind() == "header") rank.library = record->text("backend");
    if (record && record->kind() == "alone") {
      rank.gbyte_s = record->number("gbytes_per_s");
      rank.wrong = record->number("wrong");
      is_measured = true;
    }
  }
  if (is_measured) rank.problem.clear();
  check.one_rank = std::move(rank);
}

}  // namespace

LocalCheck check_this_machine(std::optional<std::uint32_t> expected_gpus) {
  const MonotonicTime begin = monotonic_now();
  const MonotonicTime end = begin + kWholeLimit;
  LocalCheck check;
  check.expected_gpus = expected_gpus;
  read_machine(check.info);
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
    check.info.facts.cuda_visible_devices = visible;  // CUDA counts only these
  add_gpu_health(check.info, kPartLimit);
  add_shared_memory(check);
  add_backends(check, end);
  add_speed(check, end);
  add_one_rank(check, end);
  check.seconds = std::chrono::duration<double>(monotonic_now() - begin).count();
  return check;
}

}  // namespace dlaunch
