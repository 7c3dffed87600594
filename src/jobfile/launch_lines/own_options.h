// Options of other launchers in dlaunch's own words.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobfile/launch_lines/launcher_options.h"

namespace dlaunch::jobfile {

/// "restart.max" and "3"; "env.NAME" and its value. "gpus", "include" and "exclude" are not keys of
/// the job file, but options of dlaunch run.
struct OwnSetting {
  std::string key;
  std::string value;
  bool operator==(const OwnSetting&) const = default;
};

/// An option without an exact meaning in dlaunch.
struct LeftOut {
  std::string typed;  // "--bind-to core"
  std::string why;    // may add what to write instead; no full stop
  bool operator==(const LeftOut&) const = default;
};

/// What the options of a launch line amount to.
struct OwnOptions {
  std::string total;     // -n
  std::string per_node;  // --nproc-per-node
  std::string nodes;     // --nnodes
  std::vector<OwnSetting> settings;
  std::vector<std::string> passed;  // names for env_pass
  std::vector<std::string> submit;  // options of `dlaunch submit`
  std::vector<LeftOut> left_out;
  std::vector<OwnSetting> advised;     // for a line to type: what `left_out` says to write
  std::vector<std::string> arguments;  // the same, for the program
  bool is_module = false;              // the program is a Python module
  std::string script;                  // the program, if an option names it
  std::string file;                    // the job file, if an option names it
  std::string one_machine;             // --standalone, as typed; empty: not given

  /// `typed`: the option as written in the line; `values`: as many as `option` takes.
  void add(const LauncherOption& option, const std::string& typed, std::vector<std::string> values);
  /// Makes the counts agree with each other. Call it after all options, including dlaunch's own,
  /// have been added.
  void settle();
  /// The options as words of a command line, without `file` and `arguments`:
  /// "--nnodes 2 --set workdir=DIR".
  [[nodiscard]] std::vector<std::string> words() const;

 private:
  void leave_out(const std::string& typed, std::string_view why);
  void map_by(const std::string& typed, const std::string& mapping);
  void pass(const std::string& text);
  void queue(const LauncherOption& option, const std::string& value);
  void signal(std::string_view text);
  void set(std::string key, std::string value) {
    settings.push_back({std::move(key), std::move(value)});
  }
};

}  // namespace dlaunch::jobfile
