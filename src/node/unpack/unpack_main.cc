#include "node/unpack/unpack_main.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <unistd.h>

#include "model/result.h"
#include "node/unpack/arriving_file.h"
#include "node/unpack/unpack_archive.h"
#include "os/clock.h"
#include "os/write_all.h"
#include "text/number.h"

namespace dlaunch {

namespace {

constexpr std::chrono::milliseconds kBetweenSigns{200};

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

void say(std::string_view text) {
  static_cast<void>(write_all(STDOUT_FILENO, text));
}

}  // namespace

int unpack_main() {
  const auto size = number_of<std::uint64_t>(variable(kUnpackSize));
  const auto mtime = number_of<std::int64_t>(variable(kUnpackTime));
  UnpackOrder order{std::string(variable(kUnpackFolder)), std::string(variable(kUnpackName)),
                    mtime.value_or(0)};
  if (!size || !mtime || order.parent.empty() || order.name.empty()) return exit_code::kUsage;
  ArrivingFile file(UniqueFd(STDIN_FILENO), UniqueFd(kArrivedFd), *size);
  MonotonicTime said{};
  UnpackArchive unpack(std::move(order), file, [&said] {
    const MonotonicTime now = monotonic_now();
    if (now - said < kBetweenSigns) return;
    said = now;
    say(std::string_view(&kUnpackSign, 1));
  });
  const std::string problem = unpack.run();
  if (problem.empty()) {
    say(kUnpacked + std::to_string(unpack.skipped()));
    return exit_code::kOk;
  }
  say(kNotUnpacked + problem);
  return exit_code::kPreflight;
}

}  // namespace dlaunch
