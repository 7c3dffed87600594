#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "cli/command_mistakes.h"
#include "cli/commands.h"
#include "cli/load_job.h"
#include "cli/print.h"
#include "jobfile/shell_quote.h"
#include "launch/session/rehearsal.h"
#include "launch/stage/stage_settings.h"
#include "model/environment.h"
#include "node/sync/sync_remarks.h"
#include "os/clock.h"
#include "os/own_machine.h"
#include "report/staged_table.h"
#include "sync/rules.h"
#include "text/json_text.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch stage job.yaml                              what the job stages, before it is "
    "started\n"
    "  dlaunch stage --hosts gpu[01-08] --from ~/venvs/train\n"
    "                                                      to the same path on these nodes\n"
    "  dlaunch stage --hosts gpu[01-08] --from data.tar.zst --to /local/data --unpack\n"
    "  dlaunch stage --hosts gpu[01-08] --list             what was staged, and what is in use\n"
    "  dlaunch stage --hosts gpu[01-08] --clean            removes it, except what is in use\n"
    "  dlaunch stage job.yaml --clean                      only what this job stages\n"
    "\n"
    "Exit code: 0 all nodes have the files, or are clean; 69 a node cannot be reached\n"
    "or was lost; 75 a node cannot take the files, or not everything could be removed;\n"
    "64 usage, 65 job file.";

constexpr std::uint32_t kListMs = 60'000;
constexpr std::uint32_t kCleanMs = 600'000;

struct StageCommand {
  JobOptions job;
  std::vector<std::string> from;
  std::optional<std::string> to;
  bool unpack = false;
  bool list = false;
  std::optional<std::vector<std::string>> clean;
  bool json = false;
  bool quiet = false;

  int execute() const {
    if (list || clean) return see();
    if (json) return print_error({exit_code::kUsage, "--json needs --list or --clean"});
    const auto folder = current_folder();
    if (!folder) return print_error(folder.error());
    auto loaded = load(*folder);
    if (!loaded) return print_error(loaded.error());
    PlanContext context;
    context.launcher_env = environment_from_block(environ);
    context.current_folder = *folder;
    PrepareSettings settings;
    settings.up_to = PrepareStep::copies;
    settings.try_meeting = false;
    PrepareListener listener;
    listener.copying = [](bool) {};
    listener.staged = [this](const StageReport& report) { tell(report); };
    listener.show = [this](const std::string& text) {
      if (!quiet) show_progress(text);
    };
    listener.note = [this](const std::string& text) {
      show_progress("");
      if (!quiet) std::fprintf(stderr, "dlaunch: note: %s\n", text.c_str());
    };
    const auto rehearsal =
        rehearse(loaded->spec, context, std::move(settings), std::move(listener));
    if (!rehearsal) return print_error(rehearsal.error());
    const auto& failure = rehearsal->outcome.failure;
    return failure ? print_error(*failure) : exit_code::kOk;
  }

  /// Handles --list and --clean.
  [[nodiscard]] int see() const {
    const auto folder = current_folder();
    if (!folder) return print_error(folder.error());
    PlanContext context;
    context.launcher_env = environment_from_block(environ);
    context.current_folder = *folder;
    wire::SeeStaged question;
    question.clean = clean.has_value();
    question.limit_ms = question.clean ? kCleanMs : kListMs;
    const auto loaded = load_hosts(*folder);
    if (!loaded) return print_error(loaded.error());
    if (const Status named = name_paths(loaded->spec, context, question); !named)
      return print_error(named.error());
    const auto staged = ask_for_staged(loaded->spec, context, question);
    if (!staged) return print_error(staged.error());
    std::string text;
    if (json) {
      text = staged_json(*staged, question.clean);
    } else if (question.clean) {
      if (!quiet) text = cleaned_text(*staged, !question.paths.empty());
    } else {
      text = staged_table(*staged, wall_now(), local_parts);
    }
    int code = exit_code::kOk;
    if (!text.empty()) {
      text.pop_back();  // print_text() ends the last line
      code = print_text(text);
    }
    const std::string problems = staged_problems(*staged);
    if (problems.empty()) return code;
    const bool any_lost = std::any_of(staged->begin(), staged->end(),
                                      [](const StagedOnNode& node) { return node.is_lost; });
    return print_error({any_lost ? exit_code::kNodeLost : exit_code::kPreflight, problems});
  }

  [[nodiscard]] Result<LoadedJob> load_hosts(const std::string& folder) const {
    if (list && clean) return fail(exit_code::kUsage, "give --list or --clean, not both");
    if (!from.empty() || to || unpack)
      return fail(exit_code::kUsage,
                  "--list and --clean copy nothing: leave out --from, --to and --unpack");
    JobOptions wanted = job;
    if (job.file.empty()) wanted.arguments = {"true"};
    auto loaded = load_job(wanted, folder);
    if (!loaded) return loaded;
    if (const Status hosts = resolve_job_hosts(wanted, quiet || json, *loaded); !hosts)
      return tl::unexpected(hosts.error());
    loaded->spec.nodes.reset();
    loaded->spec.spares = 0;
    return loaded;
  }

  /// What to remove: the paths; without any, the targets of the job; without a job, everything.
  [[nodiscard]] Status name_paths(const JobSpec& spec, const PlanContext& context,
                                  wire::SeeStaged& question) const {
    if (!clean) return {};
    for (const std::string& path : *clean) {
      if (!path.starts_with('/'))
        return fail(exit_code::kUsage,
                    "--clean " + path +
                        ": expected an absolute path on the nodes; to name a job "
                        "file, put it first: dlaunch stage " +
                        path + " --clean");
      question.paths.push_back(normal_path(path));
    }
    if (!question.paths.empty() || job.file.empty()) return {};
    const std::string& base = context.current_folder;
    const std::string workdir =
        spec.workdir.starts_with('/') ? spec.workdir : base + '/' + spec.workdir;
    for (const std::string& target :
         stage_targets(spec, workdir, find_variable(context.launcher_env, "HOME").value_or("")))
      question.paths.push_back(normal_path(target));
    if (question.paths.empty())
      return fail(exit_code::kUsage,
                  "the job has no `stage`: name what to remove, as in dlaunch "
                  "stage " +
                      job.file + " --clean /local/data");
    return {};
  }

  static std::string normal_path(const std::string& path) {
    return sync::without_slashes(std::filesystem::path(path).lexically_normal());
  }

  /// All hosts that the job may use, spares too, get what the job or --from stages.
  [[nodiscard]] Result<LoadedJob> load(const std::string& folder) const {
    if (to && from.size() != 1) return fail(exit_code::kUsage, "--to needs exactly one --from");
    if (unpack && !to)
      return fail(exit_code::kUsage, "--unpack needs --to, the folder for the archive's content");
    JobOptions wanted = job;
    if (!from.empty()) wanted.sets.push_back(line(folder));
    if (job.file.empty() && is_set(wanted, "stage")) wanted.arguments = {"true"};
    auto loaded = load_job(wanted, folder);
    if (!loaded && from.empty() && loaded.error().exit_code == exit_code::kUsage &&
        job.file.empty())
      return fail(exit_code::kUsage,
                  "nothing to copy: name a job file, or a file or folder with --from PATH");
    if (!loaded && from.empty() && !job.file.empty() && !is_job_file(job.file)) {
      if (std::filesystem::is_regular_file(job.file))
        return fail(loaded.error().exit_code,
                    loaded.error().message + "\n         to copy the file itself: " + as_copy());
      return fail(exit_code::kUsage,
                  plain_line(job.file) + " is not a job file; to copy it: " + as_copy());
    }
    if (!loaded) return loaded;
    if (staged_items(loaded->spec).empty())
      return fail(
          exit_code::kUsage,
          "the job has neither `stage` nor `sync.paths`: name a file or folder with --from");
    if (const Status hosts = resolve_job_hosts(wanted, quiet, *loaded); !hosts)
      return tl::unexpected(hosts.error());
    loaded->spec.nodes.reset();
    loaded->spec.spares = 0;
    return loaded;
  }

  /// The command line that copies what was given instead of a job file: PATH, NODE:PATH or, as with
  /// scp, PATH:TARGET.
  [[nodiscard]] std::string as_copy() const {
    JobOptions others = job;
    others.file.clear();
    std::vector<std::string> words = {"dlaunch", "stage", "--from", job.file};
    const std::size_t colon = job.file.find(":/");
    if (colon != std::string::npos && std::filesystem::exists(job.file.substr(0, colon))) {
      words.back().resize(colon);
      words.insert(words.end(), {"--to", job.file.substr(colon + 1)});
    }
    return jobfile::shell_line(words) + ' ' + jobfile::shell_line(words_of(others));
  }

  [[nodiscard]] std::string line(const std::string& folder) const {
    std::string text = "stage=[";
    for (const std::string& path : from) {
      const bool is_relative =
          !path.starts_with('/') && !path.starts_with("~/") && stage_source_path(path).node.empty();
      append_json_string(text.append(text.ends_with('[') ? "{from: " : ", {from: "),
                         is_relative ? folder + '/' + path : path);
      if (to) append_json_string(text.append(", to: "), *to);
      if (unpack) text += ", unpack: true";
      text += '}';
    }
    return text + ']';
  }

  void tell(const StageReport& report) const {
    for (const std::string& remark : remarks_on(report))
      std::fprintf(stderr, "dlaunch: note: %s\n", remark.c_str());
    if (!quiet) std::fprintf(stderr, "dlaunch: %s\n", staged_text(report).c_str());
  }
};

}  // namespace

Subcommand stage_command() {
  auto stage = std::make_shared<StageCommand>();
  const auto describe = [stage](CommandOptions options) {
    add_job_options(options, stage->job);
    options.values("--from", stage->from, "Copy this file or folder, not what the job stages",
                   "PATH");
    options.value("--to", stage->to, "Absolute path on the nodes (default: the same)", "PATH");
    options.flag("--unpack", stage->unpack,
                 "--from is an archive, and --to a folder for its content");
    options.flag("--list", stage->list, "What was staged on the nodes, and what is in use");
    options.list("--clean", stage->clean,
                 "Remove what was staged at or below these paths,\n"
                 "or by the job file, or else all of it, except what\nis in use",
                 "[PATH...]");
    options.flag("--json", stage->json, "For tools, with --list or --clean");
    options.flag("-q,--quiet", stage->quiet, "Only failures");
  };
  return {"stage", "Copy files and folders to nodes", kFooter, describe,
          [stage] { return stage->execute(); }};
}

}  // namespace dlaunch
