#include "agent/ranks/place_check.h"

#include <cerrno>
#include <optional>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include "agent/ranks/carried_environment.h"
#include "agent/ranks/environment_block.h"
#include "os/spawn.h"

namespace dlaunch {

namespace {

using Step = StartFailure::Step;

std::string inside(const std::string& folder, const std::string& path) {
  return path.starts_with('/') ? path : folder + '/' + path;
}

std::optional<StartFailure> check_workdir(const std::string& workdir) {
  struct stat info {};
  const bool there = ::stat(workdir.c_str(), &info) == 0;
  const bool is_file = there && !S_ISDIR(info.st_mode);
  int error = is_file ? ENOTDIR : 0;
  if (!there || (!is_file && ::access(workdir.c_str(), X_OK) != 0)) error = errno;
  if (error == 0) return std::nullopt;
  return StartFailure{Step::workdir, error, workdir, ""};
}

std::optional<StartFailure> check_program(const std::string& name, const std::string& search_path,
                                          const std::string& workdir) {
  const Program program = find_program(name, search_path, workdir);
  if (program.candidates.empty())
    return StartFailure{Step::execute, ENOENT, name, program.search_path};
  const std::string& last = program.candidates.back();  // the search ends at one that may be run
  struct stat info {};
  if (::stat(last.c_str(), &info) != 0)
    return StartFailure{Step::execute, errno, name, program.search_path};
  if (S_ISDIR(info.st_mode)) return StartFailure{Step::execute, EISDIR, name, program.search_path};
  if (::access(last.c_str(), X_OK) == 0) return std::nullopt;
  return StartFailure{Step::execute, errno, last, program.search_path};
}

std::optional<StartFailure> check_file(const std::string& name, const std::string& workdir) {
  const std::string path = inside(workdir, name);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return StartFailure{Step::file, errno, path, ""};
  if (S_ISDIR(info.st_mode)) return StartFailure{Step::file, EISDIR, path, ""};
  if (::access(path.c_str(), R_OK) != 0) return StartFailure{Step::file, errno, path, ""};
  return std::nullopt;
}

std::string search_path_of(const Environment& env) {
  const auto path = env.find("PATH");
  return path == env.end() ? kDefaultSearchPath : path->second;
}

}  // namespace

std::vector<StartFailure> missing_places(const wire::CheckPlaces& wanted,
                                         const Environment& login) {
  std::vector<StartFailure> missing;
  const auto note = [&](std::optional<StartFailure> failure) {
    if (failure) missing.push_back(std::move(*failure));
  };
  note(check_workdir(wanted.workdir));
  const bool has_workdir = missing.empty();
  const std::string own_path =
      search_path_of(carried_environment(login, wanted.carried, wanted.workdir, folder_exists));
  for (const auto& program : wanted.programs) {
    const bool from_workdir =
        !program.name.starts_with('/') && program.name.find('/') != std::string::npos;
    if (has_workdir || !from_workdir)
      note(check_program(program.name, program.search_path.value_or(own_path), wanted.workdir));
  }
  for (const std::string& file : wanted.files) {
    if (has_workdir || file.starts_with('/')) note(check_file(file, wanted.workdir));
  }
  return missing;
}

}  // namespace dlaunch
