// What two processes must have in common so that a fork of one can stand for the other. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

/// A process that waits in the hook, as /proc shows it (proc(5)).
struct ProcessTexts {
  std::string program;        // the target of exe
  std::string folder;         // of cwd
  std::string command_line;   // cmdline
  std::string environment;    // environ: as at execve(2)
  std::string limits;         // limits
  std::string status;         // status
  std::string stat;           // stat
  std::string memory_policy;  // the beginning of numa_maps; empty if the kernel has none
  std::string namespaces;     // the targets of ns/*
};

struct TemplateKey {
  std::string text;    // if equal for two processes, a fork of one can stand for the other
  std::string target;  // the script or module that it is about to run
  std::vector<std::string> dropped;  // variables that may differ between processes
  bool operator==(const TemplateKey&) const = default;
};

/// `arguments`: the size of its sys.argv, from which the beginning of its command line follows: a
/// template shares the interpreter, its options and the script, but not the script's arguments.
/// `is_own`: whether a variable may differ between ranks or attempts. nullopt: the process's
/// interpreter was started without a script, module or command.
[[nodiscard]] std::optional<TemplateKey> template_key(
    const ProcessTexts& process, std::size_t arguments,
    const std::function<bool(std::string_view)>& is_own);

/// Whether the target is named in the command of the job: an interpreter that a setup step or a
/// wrapper starts for its own purposes needs none of the modules.
[[nodiscard]] bool is_named_in(const std::vector<std::string>& argv, std::string_view target);

}  // namespace dlaunch
