#include "launch/output/screen.h"

#include <utility>

#include "launch/output/output_settings.h"
#include "model/result.h"
#include "text/plain_text.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

// Limit for showing what was written, before a question is asked.
constexpr std::chrono::milliseconds kCatchUp{500};

}  // namespace

Screen::Screen(ConsoleWriter& console, OutputRouter& router, RunStore& store,
               const RunOptions& options)
    : console_(console), router_(router), store_(store), options_(options) {
  if (!options.quiet && !options.plain) status_target_ = live_target(options.environment);
}

void Screen::say(std::string_view text) {
  router_.say(Stream::err, plain_text(text));
}

void Screen::state(std::string_view text) {
  say(wrapped_statement(text, screen_columns(options_.environment)));
}

void Screen::note(const std::string& text) {
  // Call this first: writing the file may wait for its file system.
  if (!options_.quiet) say("dlaunch: note: " + text);
  store_.note("notice", text);
}

void Screen::show_status(std::string text) {
  if (status_target_) router_.show_status(*status_target_, std::move(text));
}

void Screen::catch_up() {
  console_.drain(kCatchUp);
}

void Screen::tell_if_stdout_broke() {
  if (told_stdout_broken_ || !console_.broken(Stream::out)) return;
  told_stdout_broken_ = true;
  // Closing a pager is not a reason to end a training; its files go on.
  note("cannot write to stdout (" + errno_text(console_.error_number(Stream::out)) +
       "); the ranks go on, and their output is in " + store_.shown_path());
}

}  // namespace dlaunch
