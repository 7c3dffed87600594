#include "runs/run_index.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <optional>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobfile/job_reader.h"
#include "jobfile/shell_quote.h"
#include "os/files.h"
#include "os/own_machine.h"
#include "os/proc_file.h"
#include "runs/run_directory.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

struct Entry {
  std::string id;
  std::string path;
  bool is_fallback = false;
};

struct Entries {
  std::vector<Entry> all;
  std::optional<Error> unreadable;
};

void collect(const std::string& base, bool is_fallback, Entries& entries) {
  if (base.empty()) return;
  DIR* directory = ::opendir(base.c_str());
  if (directory == nullptr) {
    // No folder, or a file of that name: there are no runs yet.
    if (errno != ENOENT && errno != ENOTDIR && !entries.unreadable)
      entries.unreadable = cannot_read(base, errno);
    return;
  }
  while (const dirent* entry = ::readdir(directory)) {
    if (is_run_id(entry->d_name))
      entries.all.push_back({entry->d_name, base + '/' + entry->d_name, is_fallback});
  }
  ::closedir(directory);
}

/// Newest first: ids sort by time.
Entries all_entries(const RunFolders& folders) {
  Entries found;
  collect(folders.base, false, found);
  if (folders.state_base != folders.base) collect(folders.state_base, true, found);
  std::sort(found.all.begin(), found.all.end(),
            [](const Entry& a, const Entry& b) { return a.id > b.id; });
  return found;
}

/// The shortest word that an error treats as the beginning of several ids.
constexpr std::size_t kYear = 4;

bool is_number(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

/// Whether the word is a short form of the id: its beginning, with at least the date (longer than
/// any pid), or its end, with at least the last part.
bool means(const std::string& word, const std::string& id) {
  constexpr std::size_t kDate = 8;
  constexpr std::size_t kLastPart = 3;
  return (word.size() >= kDate && id.starts_with(word)) ||
         (word.size() >= kLastPart && id.ends_with(word));
}

std::string could_be(const std::string& word, std::size_t runs) {
  return '"' + plain_line(word) + "\" could be " + counted(runs, "run") + "; give more of the id";
}

/// The live run whose engine or front has this pid.
std::optional<RunView> run_of_pid(const RunFolders& folders, const std::string& pid) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  for (RunView& run : list_runs(folders, kAll, RunsWanted::not_ended).runs) {
    const auto& record = run.witness.record;
    if (!is_live(run.state) || !record) continue;
    if (std::to_string(record->engine.pid) == pid || std::to_string(record->front.pid) == pid)
      return std::move(run);
  }
  return std::nullopt;
}

tl::unexpected<Error> not_a_pid(const std::string& word, const std::optional<RunView>& run) {
  std::string message = word + " is not a run; a run is named by its id, not by a pid";
  if (run) message += "; pid " + word + " belongs to run " + run->id;
  return fail(exit_code::kUsage, message + "\n         try: dlaunch runs");
}

/// The run folder at or above `path`, because summaries show runs/ID/attempt-0/.
std::string run_folder_of(std::string path) {
  for (;;) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    const std::size_t slash = path.rfind('/');
    const std::string_view last =
        std::string_view(path).substr(slash == std::string::npos ? 0 : slash + 1);
    if (slash == std::string::npos || is_run_id(last)) return path;
    const std::string above = path.substr(0, slash);
    if (!is_run_id(std::string_view(above).substr(above.rfind('/') + 1)) &&
        !last.starts_with("rank-"))
      return path;
    path = above;
  }
}

tl::unexpected<Error> none_like(const RunFolders& folders, const std::string& word) {
  const std::string shown = plain_line(word);
  if (is_number(word)) return not_a_pid(shown, std::nullopt);
  const std::size_t digits = word.find_first_of("0123456789");
  if (word.starts_with("rank") && digits != std::string::npos && is_number(word.substr(digits))) {
    return fail(exit_code::kUsage, shown + " is not a run; to see one rank: dlaunch logs --rank " +
                                       word.substr(digits));
  }
  std::string message = "no run \"" + shown + "\" in " + plain_line(folders.base);
  if (is_folder(word))
    message = plain_line(word) +
              " is not the folder of a run; to list the runs in it: dlaunch runs " +
              plain_line(word);
  return fail(exit_code::kUsage, message + "\n         try: dlaunch runs");
}

Result<RunView> newest(const RunFolders& folders) {
  FoundRuns found = list_runs(folders, 1);
  if (!found.runs.empty()) return std::move(found.runs.front());
  if (found.unreadable) return tl::unexpected(*found.unreadable);
  return fail(exit_code::kUsage, "no runs in " + plain_line(folders.base) +
                                     " yet; start one: dlaunch run -n 4 -- python train.py");
}

constexpr std::size_t kMaxJobFile = std::size_t{1} << 20;

bool is_kind(const std::string& path, mode_t kind) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && (info.st_mode & S_IFMT) == kind;
}

/// The job file's logs.dir; the default if the file has mistakes.
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

FoundRuns list_runs(const RunFolders& folders, std::size_t most, RunsWanted wanted) {
  FoundRuns found;
  Entries seen = all_entries(folders);
  found.unreadable = std::move(seen.unreadable);
  for (const Entry& entry : seen.all) {
    struct stat info {};
    const bool only_not_ended = wanted == RunsWanted::not_ended;
    if (only_not_ended && ::stat((entry.path + "/summary.json").c_str(), &info) == 0) continue;
    auto run = read_run(entry.path);
    if (!run) {
      found.notes.push_back(entry.id + ": " + run.error().message);
      continue;
    }
    const auto& record = run->witness.record;
    if (entry.is_fallback && record && record->folder != folders.folder) continue;
    if (only_not_ended && !is_live(run->state) && run->state != RunState::unknown) continue;
    if (found.runs.size() == most) {
      found.more = true;
      break;
    }
    found.runs.push_back(std::move(*run));
  }
  return found;
}

Result<RunView> find_run(const RunFolders& folders, const std::string& word) {
  if (word.empty()) return newest(folders);
  if (is_number(word)) {
    if (const auto run = run_of_pid(folders, word)) return not_a_pid(word, run);
  }
  std::vector<Entry> like;
  std::size_t begun = 0;  // ids that begin with `word`
  Entries seen = all_entries(folders);
  for (Entry& entry : seen.all) {
    if (entry.id == word) return read_run(entry.path);
    if (word.size() >= kYear && entry.id.starts_with(word)) ++begun;
    if (means(word, entry.id)) like.push_back(std::move(entry));
  }
  if (like.size() == 1) return read_run(like.front().path);
  if (like.size() > 1) {
    constexpr std::size_t kShown = 4;
    std::string list;
    for (std::size_t i = 0; i < std::min(like.size(), kShown); ++i)
      list += (i == 0 ? "" : ", ") + like[i].id;
    if (like.size() > kShown) list += ", ...";
    return fail(exit_code::kUsage, could_be(word, like.size()) + ": " + list);
  }
  const std::string folder = run_folder_of(word);
  struct stat info {};
  const bool is_path = word.find('/') != std::string::npos || ::stat(word.c_str(), &info) == 0;
  if (is_path && is_folder(folder)) {
    auto run = read_run(folder);
    if (run || is_run_id(std::string_view(folder).substr(folder.rfind('/') + 1))) return run;
  }
  if (seen.unreadable) return tl::unexpected(*seen.unreadable);
  if (begun > 0)
    return fail(exit_code::kUsage, could_be(word, begun) + "\n         try: dlaunch runs");
  return none_like(folders, word);
}

Result<RunFolders> run_folders(const std::string& folder) {
  if (!folder.empty() && !is_kind(folder, S_IFDIR))
    return fail(exit_code::kUsage, "no such folder: " + plain_line(folder));
  const auto here = current_folder();
  if (!here) return tl::unexpected(here.error());
  RunFolders folders;
  folders.base = base_in(folder);
  folders.state_base = default_state_folder(environment_from_block(environ));
  folders.folder = (std::filesystem::path(*here) / folder).lexically_normal().string();
  while (folders.folder.size() > 1 && folders.folder.ends_with('/')) folders.folder.pop_back();
  return folders;
}

std::string word_for_run(const std::string& path) {
  const std::filesystem::path run(path);
  const bool is_found = run.parent_path() == std::filesystem::path(base_in("")).lexically_normal();
  return is_found ? run.filename().string() : plain_line(jobfile::shell_quote(path));
}

Result<RunView> only_live_run(const RunFolders& folders, const std::string& command,
                              const std::string& after) {
  constexpr std::size_t kShown = 8;
  FoundRuns found = list_runs(folders, kShown, RunsWanted::not_ended);
  if (found.runs.size() == 1) return std::move(found.runs.front());
  if (found.runs.empty() && found.unreadable) return tl::unexpected(*found.unreadable);
  if (found.runs.empty())
    return fail(exit_code::kUsage,
                "nothing is running in " + plain_line(folders.base) + "; see: dlaunch runs");
  std::string message = std::to_string(found.runs.size()) + (found.more ? " or more" : "") +
                        " runs are running; which one?";
  for (const RunView& run : found.runs)
    message += "\n  " + plain_line(run.name) + ": " + command + ' ' + run.id + plain_line(after);
  return fail(exit_code::kUsage, message);
}

}  // namespace dlaunch
