// What dlaunch can use on this machine, and what to install for the rest. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/info/libraries.h"
#include "model/check_report.h"

namespace dlaunch {

struct SelfCheckFacts {
  CheckedNode machine;  // facts, with those about containers, and the size of /dev/shm
  bool has_pidfd = false;
  bool is_root = false;
  std::string ssh;          // the program that is found; empty: none
  std::string no_py_spy;    // why py-spy cannot be used to look into ranks; empty: it can
  int ptrace_scope = 0;     // kernel.yama.ptrace_scope; 0 also if the kernel has no such setting
  bool has_cgroup = false;  // a cgroup is delegated to this user
  std::string no_pid_namespace;  // why none can be made, and the remedy; empty: one can
  std::vector<LibraryFact> libraries;
};

struct SelfCheckRow {
  enum class State {
    works,
    lacking,  // something to install or to allow; jobs that do not need it run
    absent,   // hardware that this machine does not have
    broken,   // without it dlaunch does not work here
  };
  State state = State::works;
  std::string name;
  std::string says;    // what was found, or what does not work without it
  std::string remedy;  // empty: none
};

/// The rows in the order of the text.
[[nodiscard]] std::vector<SelfCheckRow> self_check(const SelfCheckFacts& facts);

/// 80 columns if names allow it; the last line is the verdict.
[[nodiscard]] std::string self_check_text(const std::vector<SelfCheckRow>& rows);
/// One object; "format": 1.
[[nodiscard]] std::string self_check_json(const std::vector<SelfCheckRow>& rows);

}  // namespace dlaunch
