#include "measure/collectives/program/program.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include <sys/mman.h>
#include <unistd.h>

#include "measure/collectives/backend.h"
#include "measure/collectives/program/mode.h"
#include "measure/collectives/program/watchdog.h"
#include "measure/speed/local_speed.h"

namespace dlaunch::collectives {

namespace {

int log_fd = -1;  // one per process, like NCCL's environment

std::optional<BackendKind> backend_named(const std::string& name) {
  if (name == "mpi") return BackendKind::mpi;
  if (name == "nccl") return BackendKind::nccl;
  return std::nullopt;
}

/// Does not notify the other ranks, which may be waiting: dlaunch ends them.
[[noreturn]] void give_up(const Status& status) {
  say(status.what());
  // Not 1, which means wrong elements (docs/how-to/measure-collectives.md).
  ::_exit(status.code() == Code::unavailable ? exit_code::kPreflight : exit_code::kInternal);
}

std::string own_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

Status write_header(Context& context) {
  const auto hosts = context.team.gather_text(own_host());
  if (!hosts) return hosts.status();
  context.hosts = *hosts;
  const auto devices = context.team.gather_text(context.team.memory().description());
  if (!devices) return devices.status();
  measure::Record header("header");
  header.set("backend", context.team.world().description());
  header.set("hosts", *hosts).set("devices", *devices);
  write(context, header);
  return {};
}

Status measure_it(BackendKind kind, Mode mode, const measure::Settings& settings) {
  const std::chrono::milliseconds limit(settings.number("timeout_ms"));
  Watchdog watchdog(limit);
  Options options;
  options.backend = kind;
  // Without a time-out MPI's calls block, as in users' programs; the watchdog limits them.
  options.timeout = kind == BackendKind::mpi ? std::chrono::milliseconds(0) : limit;
  auto world = Communicator::create(options);
  if (!world) return world.status();
  auto memory = world->takes_device_buffers() && kind == BackendKind::nccl
                    ? device_memory()
                    : Result<std::unique_ptr<Memory>>(host_memory());
  if (!memory) return memory.status();
  Team team(*world, **memory);
  Context context{team, settings, watchdog, {}};
  Status done = write_header(context);
  if (done.ok()) done = mode(context);
  if (!done.ok()) give_up(done);
  watchdog.begin("the shutdown");
  return done;
}

int say_version(const std::string& backend) {
  const std::string line = version_line(backend) + '\n';
  const bool is_written = std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  return is_written ? exit_code::kOk : exit_code::kInternal;
}

}  // namespace

void keep_nccl_log() {
  log_fd = ::memfd_create("nccl-log", MFD_CLOEXEC);
  if (log_fd < 0) return;
  ::setenv("NCCL_DEBUG", "INFO", 1);
  ::setenv("NCCL_DEBUG_SUBSYS", "INIT,NET,ENV", 1);
  ::setenv("NCCL_DEBUG_FILE", ("/proc/self/fd/" + std::to_string(log_fd)).c_str(), 1);
}

std::string nccl_log() {
  std::string text(log_fd < 0 ? 0 : std::size_t{256} << 10U, '\0');
  const ssize_t n = log_fd < 0 ? 0 : ::pread(log_fd, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

std::string version_line(const std::string& backend) {
  const auto name = backend == "mpi" ? mpi_name() : nccl_name();
  return name ? "ready, " + *name : name.status().what();
}

int run_program(const std::vector<std::string>& words) {
  if (words.size() == 1 && words[0] == "--probe")
    return exit_code::kOk;  // the dynamic linker found all libraries
  if (words.size() == 2 && words[0] == "--version") return say_version(words[1]);
  if (words.size() == 1 && words[0] == "speed") {
    const std::string line = speed::to_json(speed::measure_local()) + '\n';
    return std::fputs(line.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? exit_code::kInternal
                                                                            : exit_code::kOk;
  }
  const auto kind =
      words.size() >= 3 && words[0] == "--backend" ? backend_named(words[1]) : std::nullopt;
  const Mode mode = kind ? mode_named(words[2]) : nullptr;
  if (mode == nullptr) {
    say("dlaunch starts this program itself, on the nodes of a measurement");
    return exit_code::kUsage;
  }
  const auto settings = measure::read_settings({words.begin() + 3, words.end()});
  if (!settings) {
    say(settings.error().message);
    return exit_code::kUsage;
  }
  keep_stdout_for_records();
  if (*kind == BackendKind::nccl && words[2] == "check") keep_nccl_log();
  try {
    if (const Status done = measure_it(*kind, mode, *settings); !done.ok()) give_up(done);
  } catch (const std::exception& unexpected) {
    give_up({Code::internal, unexpected.what()});  // no memory
  }
  return exit_code::kOk;
}

}  // namespace dlaunch::collectives
