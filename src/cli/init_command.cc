#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "jobfile/job_reader.h"
#include "jobfile/launch_lines/job_draft.h"
#include "jobfile/shell_quote.h"
#include "os/bounded_file.h"
#include "os/files.h"
#include "os/own_machine.h"
#include "os/unique_fd.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch init                        writes job.yaml for what is in this folder\n"
    "  dlaunch init train.sbatch --print   shows what it would write for this script\n"
    "  dlaunch init -- torchrun --nproc_per_node 8 train.py\n"
    "\n"
    "It looks for launch lines of torchrun, mpirun, srun, deepspeed, accelerate and\n"
    "horovodrun in shell and sbatch scripts and in a Dockerfile, for train.py and the\n"
    "like, and for a virtual environment.";

constexpr std::size_t kMostFiles = 500;
constexpr std::size_t kMostBytes = 65536;

/// Writes a whole file or none. `replaces`: an existing file of that name is replaced.
Status write_file(const std::string& path, const std::string& text, bool replaces) {
  constexpr int kMode = 0666;  // less the umask
  const std::string name = replaces ? path + ".dlaunch-new" : path;
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (replaces ? O_TRUNC : O_EXCL);
  const UniqueFd file(::open(name.c_str(), flags, kMode));
  if (!file.valid() && errno == EEXIST)
    return fail(exit_code::kUsage,
                path +
                    " already exists and was not changed\n         try: --print to "
                    "see the draft, -o FILE, or --force to replace the file");
  if (!file.valid()) return fail_errno(exit_code::kUsage, "cannot write " + path, errno);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t size = ::write(file.get(), text.data() + at, text.size() - at);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      const int error = errno;
      ::unlink(name.c_str());
      return fail_errno(exit_code::kUsage, "cannot write " + path, error);
    }
    at += static_cast<std::size_t>(size);
  }
  if (replaces && ::rename(name.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(name.c_str());
    return fail_errno(exit_code::kUsage, "cannot write " + path, error);
  }
  return {};
}

/// The beginning of a file, in whole lines; empty if it cannot be read.
std::string beginning_of(const std::string& path) {
  std::string text = read_bounded_file(path, "file", kMostBytes).value_or("");
  if (text.size() == kMostBytes) text.resize(text.rfind('\n') + 1);
  return text;
}

/// The files of a folder that say something about a job, each up to kMostBytes.
std::vector<jobfile::FoundFile> read_folder(const fs::path& folder) {
  std::vector<jobfile::FoundFile> files;
  std::error_code ignored;  // after an error, there are no more files
  std::size_t count = 0;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end && !ignored;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    const std::string path = entry->path().string();
    if (++count > kMostFiles || !is_regular_file(path)) continue;
    if (jobfile::is_draft_source(name)) files.push_back({name, beginning_of(path)});
  }
  for (const char* activate : {".venv/bin/activate", "venv/bin/activate", "env/bin/activate"})
    if (is_regular_file((folder / activate).string())) files.push_back({activate, ""});
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

struct InitCommand {
  std::string where;
  std::string output;
  bool force = false;
  bool print = false;
  TrailingArguments command;

  [[nodiscard]] int execute() const {
    const auto folder = current_folder();
    if (!folder) return print_error(folder.error());
    const fs::path given = fs::path(*folder) / where;
    const bool is_file = is_regular_file(given.string());
    if (!is_file && !is_folder(given.string()))
      return print_error({exit_code::kUsage, "no such file or folder: " + where});
    const fs::path in = (is_file ? given.parent_path() : given).lexically_normal();
    const std::string path =
        output.empty() ? (in / "job.yaml").lexically_relative(*folder).string() : output;
    const std::string from_there =
        (fs::path(*folder) / path).lexically_normal().lexically_relative(in).string();
    auto draft = draft_for(in, is_file ? given.filename().string() : "", from_there);
    if (!draft) return print_error(draft.error());
    if (print) return print_text(draft->text);
    if (const Status written = write_file(path, draft->text, force); !written)
      return print_error(written.error());
    // A job runs in the folder that dlaunch is started in.
    const std::string to = in.lexically_relative(*folder).string();
    std::string next = to.empty() || to == "." ? "" : "cd " + jobfile::shell_quote(to) + " && ";
    next += "dlaunch plan";
    if (from_there != "job.yaml") next += ' ' + jobfile::shell_quote(from_there);
    return print_text(plain_line("wrote " + path + " from " + draft->found.front()) +
                      "\n  next: " + plain_line(next));
  }

 private:
  /// `only`: the script to read; empty: all files of the folder. Checks that the draft is a job
  /// file.
  [[nodiscard]] Result<jobfile::JobDraft> draft_for(const fs::path& in, const std::string& only,
                                                    const std::string& path) const {
    const std::string name = (in / "").lexically_normal().parent_path().filename().string();
    jobfile::DraftInput input{read_folder(in), command, name, path, only};
    if (!only.empty() && std::none_of(input.files.begin(), input.files.end(),
                                      [&](const auto& one) { return one.name == only; })) {
      input.files.push_back({only, beginning_of((in / only).string())});
    }
    auto draft = jobfile::draft_job(input);
    if (!draft) return draft;
    const auto job = read_job({draft->text, path, {}, {}});
    if (!job)
      return fail(exit_code::kInternal,
                  "the draft is not a valid job file; please report this:\n" + job.error().message);
    return draft;
  }
};

}  // namespace

Subcommand init_command(const TrailingArguments& arguments) {
  auto init = std::make_shared<InitCommand>();
  init->command = arguments;
  const auto describe = [init](CommandOptions options) {
    options.positional("FOLDER", init->where, "Where to look, or a script (default: this folder)");
    options.value("-o,--output", init->output, "File to write (default: job.yaml in FOLDER)",
                  "FILE");
    options.flag("--force", init->force, "Replace an existing file");
    options.flag("--print", init->print, "Print the job file and write nothing");
  };
  return {"init",
          "Write a job file for the scripts of a folder",
          kFooter,
          describe,
          [init] { return init->execute(); },
          true};
}

}  // namespace dlaunch
