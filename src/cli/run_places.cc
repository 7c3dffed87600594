#include "cli/run_places.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <sys/stat.h>

#include "cli/print.h"
#include "os/proc_file.h"
#include "report/plain_text.h"
#include "report/run_directory.h"
#include "spec/job_reader.h"

extern char** environ;

namespace dlaunch {

namespace {

constexpr std::size_t kMaxJobFile = std::size_t{1} << 20;

bool is_kind(const std::string& path, mode_t kind) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && (info.st_mode & S_IFMT) == kind;
}

/// A job file with mistakes still has its runs in the usual place.
std::string logs_dir_of(const std::string& job_file) {
  JobInput input;
  input.text = read_proc_file(job_file, kMaxJobFile);
  input.file = job_file;
  const auto job = read_job(input);
  return job ? job->logs.dir : JobSpec{}.logs.dir;
}

std::string base_in(const std::string& folder) {
  const std::string inside = folder.empty() || folder.ends_with('/') ? folder : folder + '/';
  const std::string job_file = inside + "job.yaml";
  if (is_kind(job_file, S_IFREG)) {
    const std::string dir = logs_dir_of(job_file);
    return dir.starts_with('/') ? dir : inside + dir;
  }
  const std::string usual = inside + JobSpec{}.logs.dir;
  return folder.empty() || is_kind(usual, S_IFDIR) ? usual : folder;
}

}  // namespace

Result<RunPlaces> run_places(const std::string& folder) {
  if (!folder.empty() && !is_kind(folder, S_IFDIR))
    return fail(exit_code::kUsage, "no folder " + plain_line(folder));
  const auto here = current_folder();
  if (!here) return tl::unexpected(here.error());
  RunPlaces places;
  places.base = base_in(folder);
  places.state_base = default_state_folder(environment_from_block(environ));
  places.folder = (std::filesystem::path(*here) / folder).lexically_normal().string();
  while (places.folder.size() > 1 && places.folder.ends_with('/')) places.folder.pop_back();
  return places;
}

void print_notes(const std::vector<std::string>& notes) {
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 0; i < std::min(notes.size(), kShown); ++i)
    std::fprintf(stderr, "dlaunch: note: skipped %s\n", notes[i].c_str());
  if (notes.size() > kShown)
    std::fprintf(stderr, "dlaunch: note: and %zu more\n", notes.size() - kShown);
}

}  // namespace dlaunch
