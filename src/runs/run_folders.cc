#include "runs/run_index.h"

#include <filesystem>

#include <sys/stat.h>

#include "jobfile/job_reader.h"
#include "os/own_machine.h"
#include "os/proc_file.h"
#include "runs/run_directory.h"
#include "text/plain_text.h"

extern char** environ;

namespace dlaunch {

namespace {

constexpr std::size_t kMaxJobFile = std::size_t{1} << 20;

bool is_kind(const std::string& path, mode_t kind) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && (info.st_mode & S_IFMT) == kind;
}

/// The default where the job file has mistakes.
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

Result<RunFolders> run_folders(const std::string& folder) {
  if (!folder.empty() && !is_kind(folder, S_IFDIR))
    return fail(exit_code::kUsage, "no such folder: " + plain_line(folder));
  const auto here = current_folder();
  if (!here) return tl::unexpected(here.error());
  RunFolders places;
  places.base = base_in(folder);
  places.state_base = default_state_folder(environment_from_block(environ));
  places.folder = (std::filesystem::path(*here) / folder).lexically_normal().string();
  while (places.folder.size() > 1 && places.folder.ends_with('/')) places.folder.pop_back();
  return places;
}

}  // namespace dlaunch
