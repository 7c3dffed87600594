// SkyPilot tasks. Rules: "SkyPilot YAML" and "Distributed jobs on many nodes" of its documentation;
// job-specs 13.
#include <utility>

#include "jobfile/dialects/dialect.h"
#include "jobfile/dialects/foreign_keys.h"
#include "jobfile/dialects/paths.h"
#include "jobfile/dialects/sbatch_words.h"
#include "jobfile/dialects/started_programs.h"
#include "jobfile/launch_lines/shell_text.h"
#include "jobfile/scalar.h"
#include "model/rank_variables.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

constexpr KeyName kKeyNames[] = {{"env_secret", "secrets"},
                                 {"env", "envs"},
                                 {"nodes", "num_nodes"},
                                 {"command", "run"},
                                 {"container.image", "resources.image_id"}};

class SkyTask {
 public:
  explicit SkyTask(Translation& translation)
      : t_(translation),
        top_(translation.document, translation.diagnostics, Spelling::exact, translation.root, "") {
  }

  void translate() {
    if (const auto service = top_.find("service"))
      return t_.diagnostics.error(service->key,
                                  "a SkyPilot service has replicas that answer requests, but "
                                  "dlaunch runs jobs that end: remove service to run one replica");
    if (const auto name = top_.text("name")) t_.job.text({"name"}, name->text, name->range);
    const auto run = top_.text("run");
    if (!run) {
      if (!top_.has_mistake("run") && !t_.is_set("command"))
        t_.diagnostics.error(t_.document[t_.root].range,
                             "the task has no run: give the command after --");
    }
    set_nodes();
    read_resources();
    set_variables();
    if (const auto folder = top_.text("workdir"))
      t_.job.text({"workdir"}, path_below(t_.input.foreign.folder, folder->text), folder->range);
    set_command(run);
    note_others();
  }

 private:
  void set_nodes() {
    const auto nodes = top_.integer("num_nodes", 1);
    at_ = nodes ? nodes->range : t_.document[t_.root].range;
    count_ = nodes ? nodes->value : 1;
    t_.job.number({"nodes"}, count_, at_);
    t_.job.text({"framework"}, "pytorch", at_);
    t_.job.text({"launch"}, "per-node", at_);
  }

  /// Reads accelerators: "A100:8", "{A100: 8}", or a list of such items, of which the first counts.
  /// The number is GPUs per node.
  void read_resources() {
    ForeignKeys resources = top_.mapping("resources");
    if (!resources.is_given()) return;
    if (const auto gpus = resources.find("accelerators")) {
      const Node& node = t_.document[gpus->value];
      const auto entries = t_.document.entries(gpus->value);
      std::string given = node.text;
      if (node.kind == NodeKind::sequence && !node.items.empty())
        given = t_.document[node.items.front()].text;
      if (!entries.empty()) given = ":" + t_.document[entries.front().value].text;
      const auto colon = given.rfind(':');
      gpus_ = colon == std::string::npos ? "1" : given.substr(colon + 1);
    }
    if (const auto image = resources.text("image_id"); image && image->text.starts_with("docker:"))
      t_.job.text({"container", "image"}, image->text.substr(7), image->range);
    t_.not_used.push_back({"resources", resources.range()});
  }

  void set_variables() {
    ForeignKeys envs = top_.mapping("envs");
    ForeignKeys secrets = top_.mapping("secrets");
    for (const ForeignKey& one : secrets.all()) secrets_.push_back({one.name, one.key});
    for (const ForeignKey& one : envs.all()) {
      if (is_rank_variable(Framework::pytorch, one.name)) {
        t_.note_at(one.key, one.name + " is not used: dlaunch sets it");
      } else if (t_.document[one.value].kind == NodeKind::null) {  // as with sky launch --env NAME
        t_.pass_on({one.name, one.key});
      } else if (is_secret(one.name)) {
        secrets_.push_back({one.name, one.key});
      } else {
        t_.job.node({"env", one.name}, one.value, one.key);
      }
    }
    if (secrets_.empty()) return;
    t_.job.texts({"env_secret"}, secrets_, secrets_.front().range);
    t_.note_at(secrets_.front().range,
               "secrets are not copied from the file; set them in the shell that starts dlaunch: " +
                   joined(secrets_, ", ", &LocatedText::text));
  }

  /// Exports the variables that SkyPilot sets on each node. In the list of addresses, only the
  /// first line is an address; the other lines only make the number of lines right.
  [[nodiscard]] std::string exports(const Names& names) const {
    const std::string addresses =
        "$MASTER_ADDR$(node=1; while [ $node -lt $GROUP_WORLD_SIZE ]; do "
        "printf '\\n-'; node=$((node + 1)); done)";
    const std::pair<const char*, std::string> kVariables[] = {
        {"SKYPILOT_NODE_RANK", "$NODE_RANK"},    {"SKYPILOT_NUM_NODES", "$GROUP_WORLD_SIZE"},
        {"SKYPILOT_NODE_IPS", addresses},        {"SKYPILOT_NUM_GPUS_PER_NODE", gpus_},
        {"SKYPILOT_TASK_ID", "$DLAUNCH_RUN_ID"}, {"SKYPILOT_JOB_ID", "$DLAUNCH_RUN_ID"}};
    std::string line;
    for (const auto& [name, value] : kVariables)
      if (names.contains(name)) line += std::string(" ") + name + "=\"" + value + '"';
    return line.empty() ? line : "export" + line + '\n';
  }

  void set_command(const std::optional<LocatedText>& run) {
    const auto setup = top_.text("setup");
    std::string lines;
    if (run) lines = exports(names_in(run->text + (setup ? setup->text : "")));
    if (run && count_ > 1 && uses_addresses(run->text))
      t_.diagnostics.error(run->range,
                           "run uses $SKYPILOT_NODE_IPS for more than the first node's address, "
                           "but dlaunch provides only this address ($MASTER_ADDR)");
    if (setup && !setup->text.empty()) {
      lines += "(\n" + setup->text + (setup->text.ends_with('\n') ? "" : "\n") + ")\n";
      t_.note_at(setup->range,
                 "setup runs on each node before each run; to leave it out: --set "
                 "setup=true");
    }
    if (!lines.empty()) t_.job.text({"setup"}, lines, setup ? setup->range : run->range);
    t_.job.text({"shell"}, "bash", at_);
    if (run) t_.job.text({"command"}, run->text, run->range);
  }

  /// Whether $SKYPILOT_NODE_IPS is used for more than its first line and its number of lines.
  static bool uses_addresses(std::string_view run) {
    while (!run.empty()) {
      const std::string_view line = take_line(run);
      bool is_known = !mentions_variable(line, "SKYPILOT_NODE_IPS");
      for (const std::string_view use : {"head -n1", "head -n 1", "head -1", "sed -n 1p", "wc -l"})
        is_known = is_known || line.find(use) != line.npos;
      if (!is_known) return true;
    }
    return false;
  }

  void note_others() {
    for (const std::string_view key : {"file_mounts", "volumes"})
      if (const auto mounts = top_.find(key))
        t_.note_at(mounts->key, std::string(key) +
                                    " is not used: put the files on the nodes, at the paths that "
                                    "run expects");
    top_.skip(
        {"experimental", "config", "event_callback", "inputs", "outputs", "estimated_runtime"});
    top_.refuse_misspelt();
    for (const LocatedText& key : top_.others()) t_.not_used.push_back(key);
  }

  Translation& t_;
  ForeignKeys top_;
  SourceRange at_;
  std::int64_t count_ = 1;
  std::string gpus_ = "0";
  std::vector<LocatedText> secrets_;
};

std::string why_not_skypilot(const Document& document, NodeId root) {
  const auto has = [&](std::string_view key) { return document.find(root, key).has_value(); };
  if (has("command") || has("$schema") || has("type")) return "it has keys of other formats";
  const bool has_task = has("run") || has("setup");
  const bool has_more = has("resources") || has("num_nodes") || has("file_mounts") || has("envs");
  return has_task && has_more ? ""
                              : "no run or setup with resources, num_nodes, file_mounts or envs";
}

void translate_skypilot(Translation& translation) {
  SkyTask(translation).translate();
}

}  // namespace

const Dialect kSkyPilot{.name = "SkyPilot",
                        .why_not = why_not_skypilot,
                        .translate = translate_skypilot,
                        .key_names = kKeyNames};

}  // namespace dlaunch::jobfile
