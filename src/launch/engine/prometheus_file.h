// metrics.prometheus: a file that shows the state of the run to node_exporter.
#pragma once

#include <functional>
#include <string>

#include "launch/engine/run_request.h"
#include "os/event_loop.h"

namespace dlaunch {

/// The file is renamed into place (mode 0644 less the umask, because node_exporter is another
/// user), so a reader never sees half of it. If it cannot be written, the user is told once and the
/// run goes on. Lives on the engine's one thread.
class PrometheusFile {
 public:
  using Text = std::function<std::string()>;
  using Say = std::function<void(const std::string& line)>;
  /// `text`: the content as of now.
  PrometheusFile(EventLoop& loop, const RunOptions& options, Text text, Say say);

  /// Writes the file now, and then every 5 s, less often with many ranks, until end(). For a job
  /// without metrics.prometheus, begin() and end() do nothing.
  void begin();
  /// Writes the file for the last time, with this content.
  void end(const Text& text);

 private:
  void write(const std::string& text);

  const std::string path_;  // absolute; empty: the job has none
  Text text_;
  Say say_;
  Timer next_;
  bool has_failed_ = false;
};

}  // namespace dlaunch
