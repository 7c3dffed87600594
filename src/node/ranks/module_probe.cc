#include "node/ranks/module_probe.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "os/program_output.h"

namespace dlaunch {

namespace {

// The last line that it prints is the answer. A package whose __init__.py may locate its modules
// itself is doubtful.
constexpr std::string_view kProgram = R"(
import os, sys
def find(name, path):
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path)
        if spec is not None:
            return spec
def doubtful(spec):
    if not spec.origin:
        return False
    if not spec.origin.endswith('.py'):
        return True
    with open(spec.origin, encoding='utf-8', errors='replace') as file:
        text = file.read()
    return any(word in text for word in ('__path__', 'meta_path', 'sys.modules'))
def missing(name):
    parts = name.split('.')
    path = spec = None
    for i in range(len(parts)):
        before, spec = spec, find('.'.join(parts[:i + 1]), path)
        if spec is None:
            return name if before is None or not doubtful(before) else ''
        path = spec.submodule_search_locations
        if path is None:
            return name if i + 1 < len(parts) and not doubtful(spec) else ''
        path = list(path)
    if find(name + '.__main__', path) is None and not doubtful(spec):
        return name + '.__main__'
    return ''
print('\nmissing:' + missing(os.environ['DLAUNCH_MODULE']))
)";

}  // namespace

std::string missing_module(const ModuleProbe& probe, std::chrono::milliseconds limit) {
  if (::chdir(probe.workdir.c_str()) != 0) return {};
  std::vector<std::string> argv = {probe.python};
  for (const std::string& option : probe.command.options) {
    // Leaves out -i, -v, -x and similar options, which would disturb the answer.
    const bool matters = option.find_first_of("EIPsS") != std::string::npos;
    if (option.starts_with('-') &&
        option.find_first_not_of("EIPsSuBbOdq", 1) == std::string::npos && matters)
      argv.push_back(option);
  }
  argv.insert(argv.end(), {"-c", std::string(kProgram)});
  Environment env = probe.env;
  env.insert_or_assign("DLAUNCH_MODULE", probe.command.module);
  env.erase("PYTHONINSPECT");
  env.insert_or_assign("PYTHONDONTWRITEBYTECODE", "1");
  const auto said = program_output(argv, limit, &env);
  if (!said) return {};
  std::string_view text = *said;
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  const std::string_view line = text.substr(std::min(text.rfind('\n') + 1, text.size()));
  constexpr std::string_view kAnswer = "missing:";
  return line.starts_with(kAnswer) ? std::string(line.substr(kAnswer.size())) : std::string();
}

}  // namespace dlaunch
