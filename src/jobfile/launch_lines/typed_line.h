// A command line of dlaunch that has options of other launchers, typed by habit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jobfile/launch_lines/own_options.h"

namespace dlaunch::jobfile {

/// What the reader of a typed line knows about dlaunch's command.
struct OwnCommand {
  /// How many of the next words are values of the command's own option; -1: it has no such option.
  std::function<int(const std::string& word)> values;
  /// Whether the word names a job file or a folder with one.
  std::function<bool(const std::string& word)> is_job;
  bool has_command = false;  // a program follows "--"
  bool is_submit = false;    // the command takes options for Slurm's queue
};

/// A command line that had options of other launchers, in dlaunch's own words.
struct TypedLine {
  std::vector<std::string> words;      // with dlaunch's options in place of the foreign ones
  std::vector<std::string> program;    // words that belong after "--"
  std::vector<std::string> arguments;  // of the program: the last words after "--"
  bool is_module = false;              // the program is a Python module
  std::vector<LeftOut> left_out;       // empty: the translation is exact
  std::size_t for_submit = 0;  // how many of the first words are options of `dlaunch submit`
  /// An option without the value that it needs, or an unclear option, which has a different meaning
  /// for each of the launchers in `meanings`. The members above are then empty.
  std::string without_value;
  std::string unclear;
  std::vector<Launchers> meanings;
};

/// Whether one of the words, up to the first of a program, is an option of another launcher.
[[nodiscard]] bool has_foreign_option(const std::vector<std::string>& words,
                                      const OwnCommand& command);

/// `launchers`: the launchers for which the line may have been written.
[[nodiscard]] TypedLine in_own_words(const std::vector<std::string>& words,
                                     const OwnCommand& command,
                                     Launchers launchers = launcher::kAll);

}  // namespace dlaunch::jobfile
