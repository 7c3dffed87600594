#include "launch/console/debug_log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <string>

namespace dlaunch::debug_log {

namespace {

void write_to_stderr(std::string_view line) {
  while (!line.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
    if (n < 0 && errno != EINTR) return;  // stderr is gone
    if (n > 0) line.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// Has one format, and so does not need spdlog's formatter, which brings most of fmt.
class LineSink final : public spdlog::sinks::sink {
 public:
  explicit LineSink(std::function<void(std::string_view)> output) : output_(std::move(output)) {}

  void log(const spdlog::details::log_msg& message) override {
    std::string line = "dlaunch[";
    line.append(message.logger_name.data(), message.logger_name.size()).append("]: ");
    line.append(message.payload.data(), message.payload.size()).append("\n");
    const std::lock_guard lock(mutex_);
    output_(line);
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  std::mutex mutex_;
  std::function<void(std::string_view)> output_;
};

/// The process-wide log level. It is outside the logger, so a silent run costs one relaxed load per
/// message and never builds the logger.
struct Settings {
  std::atomic<int> verbosity{0};
  std::mutex mutex;
  std::string part = "engine";
  std::function<void(std::string_view)> output;
  std::shared_ptr<spdlog::logger> logger;
};

Settings& settings() {
  static Settings instance;
  return instance;
}

std::shared_ptr<spdlog::logger> logger() {
  Settings& s = settings();
  const std::lock_guard lock(s.mutex);
  if (!s.logger) {
    auto output = s.output ? s.output : write_to_stderr;
    s.logger = std::make_shared<spdlog::logger>(s.part, std::make_shared<LineSink>(output));
    s.logger->set_level(spdlog::level::trace);
  }
  return s.logger;
}

bool wants(int verbosity) {
  return settings().verbosity.load(std::memory_order_relaxed) >= verbosity;
}

}  // namespace

void set_verbosity(int verbosity, std::string_view part) {
  Settings& s = settings();
  const std::lock_guard lock(s.mutex);
  s.verbosity.store(verbosity, std::memory_order_relaxed);
  s.part = part;
  s.logger.reset();
}

void set_output(std::function<void(std::string_view line)> output) {
  Settings& s = settings();
  const std::lock_guard lock(s.mutex);
  s.output = std::move(output);
  s.logger.reset();
}

bool wants_debug() {
  return wants(2);
}

void debug(std::string_view message) {
  if (wants(2))
    logger()->log(spdlog::level::debug, spdlog::string_view_t(message.data(), message.size()));
}
void info(std::string_view message) {
  if (wants(1))
    logger()->log(spdlog::level::info, spdlog::string_view_t(message.data(), message.size()));
}
void warn(std::string_view message) {
  if (wants(1))
    logger()->log(spdlog::level::warn, spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace dlaunch::debug_log
