#include <memory>

#include "cli/commands.h"
#include "cli/print.h"
#include "os/bounded_file.h"
#include "os/files.h"
#include "report/run_comparison.h"
#include "runs/run_index.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

// A plan of 100,000 ranks takes about 50 MB.
constexpr std::size_t kMostBytes = std::size_t{256} << 20;

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch compare k3f x07          what differs between two runs\n"
    "  dlaunch compare k3f              between this one and the newest\n"
    "  dlaunch compare k3f x07 --json   for tools\n"
    "\n"
    "Compares the jobs, where they came from (machine, dlaunch, Python environment,\n"
    "commit), the plans, the nodes, where the time went, how they ended, and the\n"
    "metrics. Equal values are only counted.";

struct CompareCommand {
  std::string first;
  std::string second;
  bool json = false;

  int execute() const {
    if (first.empty())
      return print_error(
          {exit_code::kUsage, "which runs?\n         try: dlaunch compare RUN1 RUN2"});
    const auto folders = run_folders("");
    if (!folders) return print_error(folders.error());
    const auto one = read(*folders, first);
    if (!one) return print_error(one.error());
    const auto other = read(*folders, second);
    if (!other) return print_error(other.error());
    if (one->id == other->id)
      return print_error(
          {exit_code::kUsage, "both are run " + one->id + "\n         try: dlaunch runs"});
    const auto values = run_values(*one);
    if (!values) return print_error(values.error());
    const auto others = run_values(*other);
    if (!others) return print_error(others.error());
    const auto sections = compare_runs(*values, *others);
    return print_text(json ? comparison_json(*one, *other, sections)
                           : comparison_text(*one, *other, sections, output_columns()));
  }

 private:
  static Result<RunTexts> read(const RunFolders& folders, const std::string& word) {
    const auto run = find_run(folders, word);
    if (!run) return tl::unexpected(run.error());
    RunTexts texts;
    texts.id = run->id;
    texts.state = (run->name.empty() ? "" : plain_line(run->name) + ", ") + state_text(*run);
    for (const auto& [name, text] :
         {std::pair("job.yaml", &texts.job_yaml), std::pair("plan.json", &texts.plan_json),
          std::pair("summary.json", &texts.summary_json)}) {
      const std::string path = run->path + '/' + name;
      if (!is_regular_file(path)) continue;  // the run has not got that far
      auto content = read_bounded_file(path, "file", kMostBytes);
      if (!content) return tl::unexpected(content.error());
      *text = std::move(*content);
    }
    return texts;
  }
};

}  // namespace

Subcommand compare_command() {
  auto compare = std::make_shared<CompareCommand>();
  const auto describe = [compare](CommandOptions options) {
    options.positional("RUN1", compare->first, "Unique beginning or end of an id, or a folder");
    options.positional("RUN2", compare->second, "Likewise (default: the newest run)");
    options.flag("--json", compare->json, "As JSON");
  };
  return {"compare", "Show what differs between two runs", kFooter, describe,
          [compare] { return compare->execute(); }};
}

}  // namespace dlaunch
