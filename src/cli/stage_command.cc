#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/load_job.h"
#include "cli/print.h"
#include "launch/session/rehearsal.h"
#include "model/environment.h"
#include "node/sync/sync_remarks.h"
#include "os/own_machine.h"
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
    "\n"
    "Exit code: 0 all nodes have it; 69 a node cannot be connected or was lost;\n"
    "75 a node cannot take it; 64 usage, 65 job file.";

struct StageCommand {
  JobOptions job;
  std::vector<std::string> from;
  std::optional<std::string> to;
  bool unpack = false;
  bool quiet = false;

  int execute() const {
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
    const auto rehearsal =
        rehearse(loaded->spec, context, std::move(settings), std::move(listener));
    if (!rehearsal) return print_error(rehearsal.error());
    const auto& failure = rehearsal->outcome.failure;
    return failure ? print_error(*failure) : exit_code::kOk;
  }

  /// All hosts that the job may use, spares too, get what it or --from stages.
  [[nodiscard]] Result<LoadedJob> load(const std::string& folder) const {
    if (to && from.size() != 1) return fail(exit_code::kUsage, "--to goes with one --from");
    if (unpack && !to)
      return fail(exit_code::kUsage,
                  "--unpack goes with --to, the folder for the archive's content");
    JobOptions wanted = job;
    if (!from.empty()) wanted.sets.push_back(line(folder));
    if (job.file.empty() && is_set(wanted, "stage")) wanted.arguments = {"true"};
    auto loaded = load_job(wanted, folder);
    if (!loaded && from.empty() && loaded.error().exit_code == exit_code::kUsage &&
        job.file.empty())
      return fail(exit_code::kUsage,
                  "nothing to copy: name a job file, or a file or folder with --from PATH");
    if (!loaded) return loaded;
    if (loaded->spec.stage.empty())
      return fail(exit_code::kUsage, "the job has no `stage`: name a file or folder with --from");
    if (const Status hosts = resolve_job_hosts(wanted, quiet, *loaded); !hosts)
      return tl::unexpected(hosts.error());
    loaded->spec.nodes.reset();
    loaded->spec.spares = 0;
    return loaded;
  }

  [[nodiscard]] std::string line(const std::string& folder) const {
    std::string text = "stage=[";
    for (const std::string& path : from) {
      const bool is_relative = !path.starts_with('/') && !path.starts_with("~/");
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
    options.values("--from", stage->from, "This file or folder, not what the job stages", "PATH");
    options.value("--to", stage->to, "Its absolute path on the nodes; else the same as here",
                  "PATH");
    options.flag("--unpack", stage->unpack,
                 "--from is an archive, and --to a folder for its content");
    options.flag("-q,--quiet", stage->quiet, "Only failures");
  };
  return {"stage", "Copy files and folders to nodes", kFooter, describe,
          [stage] { return stage->execute(); }};
}

}  // namespace dlaunch
