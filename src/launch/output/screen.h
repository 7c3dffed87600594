// dlaunch's own messages on the console of a run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launch/console/console_writer.h"
#include "launch/engine/run_request.h"
#include "launch/engine/run_store.h"
#include "launch/output/output_router.h"

namespace dlaunch {

/// Lives on the engine's one thread. Lines appear between those of the ranks, in the order of the
/// calls.
class Screen {
 public:
  Screen(ConsoleWriter& console, OutputRouter& router, RunStore& store, const RunOptions& options);

  /// Shows whole lines. Control characters are removed, because much of such text comes from nodes.
  void say(std::string_view text);
  /// A statement of the launcher, wrapped to the width of the screen.
  void state(std::string_view text);
  /// "dlaunch: note: ..." unless the user wants quiet, and a line in events.jsonl.
  void note(const std::string& text);
  /// A line at the bottom of a terminal until it is replaced; empty: none.
  void show_status(std::string text);
  /// Bytes for stderr as they are.
  void write(std::string text) { console_.write(Stream::err, std::move(text)); }
  /// Waits until what was written is on the screen, but no longer than a moment.
  void catch_up();
  /// The user's input has ended a line on the terminal.
  void answered() { router_.answered(); }
  /// Reports once that the ranks go on although their stdout has no reader.
  void tell_if_stdout_broke();

 private:
  ConsoleWriter& console_;
  OutputRouter& router_;
  RunStore& store_;
  const RunOptions& options_;
  std::optional<LiveTarget> status_target_;
  bool told_stdout_broken_ = false;
};

}  // namespace dlaunch
