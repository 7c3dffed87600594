#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "model/environment.h"
#include "os/bounded_file.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/own_machine.h"
#include "os/random.h"
#include "os/spawn.h"
#include "os/unique_fd.h"
#include "os/write_all.h"
#include "report/html/report_page.h"
#include "runs/run_index.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

// A plan of 100,000 ranks takes about 50 MB.
constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr std::size_t kMostStacks = 8;  // the newest; older ones are only named
constexpr mode_t kMode = 0600;

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch report                    of the newest run: runs/ID/report.html\n"
    "  dlaunch report k3f --open         and opens it in the browser\n"
    "  dlaunch report k3f -o ~/k3f.html  elsewhere, to share it\n"
    "  dlaunch report --trace run.json   for https://ui.perfetto.dev\n"
    "\n"
    "One HTML file that needs no network: the cause, where the time went, a timeline,\n"
    "what the nodes used, metrics, stacks, plan and environment. It contains no values\n"
    "of env_secret, but it does contain the job's arguments and the end of its output.";

/// Files of the run folder and of the folders of its attempts, relative to it, ascending.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& below) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder + '/' + below, error), end;
         !error && entry != end; entry.increment(error)) {
      if (std::filesystem::is_regular_file(entry->symlink_status(error)))
        names.push_back(below + entry->path().filename().string());
    }
  };
  add("");
  for (const std::uint32_t attempt : attempts_of(folder))
    add("attempt-" + std::to_string(attempt) + '/');
  std::sort(names.begin(), names.end());
  return names;
}

/// The names of stacks/*.json, the oldest first.
std::vector<std::string> stacks_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  if (std::filesystem::is_symlink(folder + "/stacks", error)) return names;
  for (std::filesystem::directory_iterator entry(folder + "/stacks", error), end;
       !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// The file that `path` names once all links are followed; it need not exist.
std::string target_of(const std::string& path) {
  std::error_code error;
  const auto whole =
      std::filesystem::absolute(path, error);  // else the name of a missing file stays relative
  const auto target = std::filesystem::weakly_canonical(whole, error);
  return error ? path : target.string();
}

/// Whether `path` must be written to, not replaced: a device, a pipe, a descriptor (/dev/stdout).
bool is_special(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return false;
  std::error_code error;
  const std::string whole = std::filesystem::absolute(path, error).lexically_normal().string();
  return !S_ISREG(info.st_mode) || whole.starts_with("/dev/") || whole.starts_with("/proc/");
}

bool is_stdout(const std::string& path) {
  struct stat own {};
  struct stat other {};
  return ::fstat(STDOUT_FILENO, &own) == 0 && ::stat(path.c_str(), &other) == 0 &&
         own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/// A file is replaced in one step.
Status write_private(const std::string& path, const std::string& text) {
  const bool in_place = is_special(path);
  const std::string target = in_place ? path : target_of(path);
  const std::string temporary = in_place ? path : target + '.' + std::to_string(::getpid());
  if (!in_place) ::unlink(temporary.c_str());
  const int how = in_place ? O_WRONLY | O_TRUNC : O_WRONLY | O_CREAT | O_EXCL;
  const UniqueFd file(::open(temporary.c_str(), how | O_CLOEXEC, kMode));
  int error = file ? write_all(file.get(), text) : errno;
  if (error == 0 && !in_place && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return {};
  if (file && !in_place) ::unlink(temporary.c_str());
  return fail_errno(kNoPermission, "cannot write " + plain_line(path), error);
}

/// Returns only if it has failed.
Error open_in_browser(const std::string& path) {
  const Environment environment = environment_from_block(environ);
  const std::string wanted = find_variable(environment, "BROWSER").value_or("");
  for (const std::string& name : {wanted.substr(0, wanted.find(':')), std::string("xdg-open")}) {
    if (name.empty()) continue;
    const std::string program =
        executable_of(find_program(name, find_variable(environment, "PATH").value_or(""), "."));
    if (program.empty()) continue;
    ::execl(program.c_str(), name.c_str(), path.c_str(), nullptr);
  }
  return {exit_code::kNotFound,
          "no browser can be started here: neither BROWSER" +
              (wanted.empty() ? "" : " (" + plain_line(wanted) + ')') +
              " nor xdg-open was found; open the report yourself: " + plain_line(path)};
}

struct ReportCommand {
  std::string word;
  std::optional<std::string> output;
  std::optional<std::string> trace;
  bool open = false;

  int execute() const {
    const auto folders = run_folders("");
    if (!folders) return print_error(folders.error());
    const auto run = find_run(*folders, word);
    if (!run) return print_error(run.error());
    const std::string path = output.value_or(run->path + "/report.html");
    if (trace && target_of(*trace) == target_of(path))
      return print_error({exit_code::kUsage, "report and trace are the same file: " +
                                                 plain_line(path) + "; give --trace another name"});
    auto input = read(*run, target_of(path));
    if (!input) return print_error(input.error());
    const ReportText text = report_text(std::move(*input));
    if (const Status written = write(path, text.page); !written)
      return print_error(written.error());
    if (trace) {
      if (const Status written = write(*trace, text.trace); !written)
        return print_error(written.error());
    }
    // If the report went to stdout, nothing else is printed there.
    std::string said = is_stdout(path) ? "" : path;
    if (trace && !is_stdout(*trace)) said += (said.empty() ? "" : "\n") + *trace;
    const int code = said.empty() ? exit_code::kOk : print_text(said);
    if (code != exit_code::kOk || !open) return code;
    std::fflush(nullptr);
    return print_error(open_in_browser(path));
  }

 private:
  Status write(const std::string& path, const std::string& text) const {
    Status written = write_private(path, text);
    if (written || output || path == trace.value_or("")) return written;
    written.error().message +=
        "\n         try: dlaunch report " + word + (word.empty() ? "" : " ") + "-o report.html";
    return written;
  }

  /// The path from the folder of the page to the run folder, with a slash at the end.
  static std::string way_to(const std::string& folder, const std::string& page) {
    std::error_code error;
    const auto base = std::filesystem::absolute(page, error).parent_path();
    const auto way =
        std::filesystem::relative(std::filesystem::absolute(folder, error), base, error);
    return error || way == "." ? "" : way.string() + '/';
  }

  /// A run whose launcher was killed ended about when it, or a rank, last recorded something.
  static WallTime end_of(const RunView& run, const ReportInput& input) {
    if (run.witness.ending) return input.started + run.witness.ending->elapsed;
    if (is_live(run.state)) return wall_now();
    WallTime last = input.started;
    for (const std::string& name : input.files) {
      struct stat info {};
      const bool tells = name == "events.jsonl" || name == "samples.json" ||
                         name.find('/') != std::string::npos;  // attempt-N/
      if (!tells || ::lstat((run.path + '/' + name).c_str(), &info) != 0) continue;
      last = std::max(last, WallTime(std::chrono::seconds(info.st_mtim.tv_sec) +
                                     std::chrono::nanoseconds(info.st_mtim.tv_nsec)));
    }
    return last;
  }

  static Result<ReportInput> read(const RunView& run, const std::string& page) {
    ReportInput input;
    input.id = run.id;
    input.name = run.name;
    input.state = name_of(run.state);
    input.text = state_text(run);
    input.version = DLAUNCH_VERSION;
    input.started = run.witness.record ? run.witness.record->started : wall_now();
    input.files = files_in(run.path);
    input.ended = end_of(run, input);
    input.folder = way_to(run.path, page);
    const std::pair<const char*, std::string*> texts[] = {
        {"job.yaml", &input.job_yaml},         {"plan.json", &input.plan_json},
        {"summary.json", &input.summary_json}, {"events.jsonl", &input.events},
        {"samples.json", &input.samples_json}, {"preflight.txt", &input.preflight}};
    const auto read_file = [&](const std::string& name, std::string& text) {
      const std::string path = run.path + '/' + name;
      if (::access(path.c_str(), F_OK) != 0) return;  // the run has not got that far
      auto content = read_plain_file(path, kMostBytes);
      if (content) {
        text = std::move(*content);
      } else {
        input.notes.push_back(content.error().message);
      }
    };
    for (const auto& [name, text] : texts) read_file(name, *text);
    const auto stacks = stacks_in(run.path);
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      input.stacks.emplace_back(stacks[i], "");
      if (i + kMostStacks < stacks.size()) continue;
      read_file("stacks/" + stacks[i], input.stacks.back().second);
    }
    auto nonce = random_secret();
    if (!nonce) return tl::unexpected(nonce.error());
    input.nonce = std::move(*nonce);
    return input;
  }
};

}  // namespace

Subcommand report_command() {
  auto report = std::make_shared<ReportCommand>();
  const auto describe = [report](CommandOptions options) {
    options.positional("RUN", report->word,
                       "Unique beginning or end of an id, or a folder\n(default: the newest run)");
    options.value("-o,--output", report->output,
                  "Where to write it (default: report.html in the\n"
                  "run folder)",
                  "FILE");
    options.value("--trace", report->trace, "Also write a trace for Perfetto", "FILE");
    options.flag("--open", report->open, "Open it with BROWSER, else xdg-open");
  };
  return {"report", "Write a report of a run as one HTML file", kFooter, describe,
          [report] { return report->execute(); }};
}

}  // namespace dlaunch
