#include "jobfile/launch_lines/job_draft.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "jobfile/launch_lines/batch_options.h"
#include "jobfile/launch_lines/draft_source.h"
#include "jobfile/launch_lines/draft_yaml.h"
#include "jobfile/scalar.h"
#include "jobfile/shell_quote.h"
#include "jobfile/source.h"
#include "model/rank_variables.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

using Words = std::vector<std::string>;

Framework framework_named(const std::string& name) {
  if (name == "mpi") return Framework::mpi;
  if (name == "horovod") return Framework::horovod;
  return name == "jax" ? Framework::jax : Framework::pytorch;
}

/// Whether the word expands to the script's own arguments, which the words after "--" replace.
bool is_arguments(std::string_view spelled) {
  constexpr std::array<std::string_view, 6> kAll{"$@",       "\"$@\"", "${@}",
                                                 "\"${@}\"", "$*",     "\"$*\""};
  return contains(kAll, spelled);
}

/// Writes the draft of one source.
class DraftWriter {
 public:
  DraftWriter(const DraftInput& input, const DraftSource& source,
              const std::vector<DraftSource>& all)
      : input_(input),
        source_(source),
        all_(all),
        line_(*source.script.line),
        framework_(framework_of(input, line_)) {
    read_counts();
    read_settings();
  }

  std::string write() {
    add_beginning();
    add_name();
    add_command();
    add_counts();
    add_environment();
    add_settings();
    add_container();
    add_left_out();
    return std::move(text_);
  }

 private:
  void read_counts() {
    RankCounts counts = counts_of(source_.script);
    total_ = std::move(counts.total);
    per_node_ = std::move(counts.per_node);
    nodes_ = std::move(counts.nodes);
    if (per_node_ == "gpu") per_node_ = "auto";  // "auto" also works without a GPU
  }

  void read_settings() {
    add_all(source_.script.batch);
    add_all(line_.options);
    for (const OwnSetting& one : source_.script.env)
      settings_.push_back({"env." + one.key, one.value});
    for (const ScriptMistake& one : source_.script.mistakes)
      left_out_.push_back({source_.where, one.text});
    for (const auto* more : {&source_.script.left_out, &source_.script.setup_unknown})
      left_out_.insert(left_out_.end(), more->begin(), more->end());
  }

  void add_all(const OwnOptions& own) {
    for (const OwnSetting& one : own.settings) settings_.push_back(one);
    for (const LeftOut& one : own.left_out) left_out_.push_back(one);
    passed_.insert(passed_.end(), own.passed.begin(), own.passed.end());
    submit_.insert(submit_.end(), own.submit.begin(), own.submit.end());
  }

  /// Returns the last value of a setting and removes the setting.
  std::string take(std::string_view key) {
    std::string value;
    for (const OwnSetting& one : settings_)
      if (one.key == key) value = one.value;
    std::erase_if(settings_, [&](const OwnSetting& one) { return one.key == key; });
    return value;
  }

  /// False: a job file cannot contain these lines, so they are left out.
  bool accepts(const std::string& yaml) {
    const std::string mistake = mistake_in(yaml);
    if (mistake.empty()) return true;
    std::string shown = yaml.substr(0, yaml.find_last_not_of('\n') + 1);
    std::replace(shown.begin(), shown.end(), '\n', ' ');
    left_out_.push_back({shown, mistake});
    return false;
  }

  bool add(std::string_view comment, const std::string& yaml) {
    if (!accepts(yaml)) return false;
    text_ += '\n';
    if (!comment.empty()) text_ += commented(comment);
    text_ += yaml;
    return true;
  }

  [[nodiscard]] std::string revealed(std::string text) const {
    return with_substitutions(std::move(text), source_.script.substitutions);
  }

  void add_beginning() {
    text_ += commented("A dlaunch job file, written by dlaunch init from " + source_.where +
                       (line_.launcher.empty() ? "" : " (" + line_.launcher + ")") + ".");
    const std::string file =
        input_.file == "job.yaml" ? "" : ' ' + plain_line(shell_quote(input_.file));
    text_ += "#   dlaunch plan" + file + "    shows what would run where, and starts nothing\n";
    text_ += "#   dlaunch run" + file + "     starts it\n";
    if (source_.script.is_batch)
      text_ +=
          "#   dlaunch submit" + plain_line(submit_words()) + file + "    submits it to Slurm\n";
    text_ += "#   dlaunch help KEY    explains a key, such as command or restart.max\n";
    std::vector<std::string> others;
    for (const DraftSource& one : all_)
      if (one.where != source_.where) others.push_back(one.where);
    if (!others.empty()) {
      const std::size_t shown = std::min<std::size_t>(others.size(), 5);
      const std::string first = others.front().substr(0, others.front().rfind(':'));
      others.resize(shown);
      text_ += commented("Also found: " + joined(others) + "; for one of these: dlaunch init " +
                         shell_quote(first));
    }
    if (!source_.script.others.empty())
      text_ += commented("Also found, below that line: " + joined(source_.script.others) + '.');
  }

  [[nodiscard]] std::string submit_words() const {
    std::string words;
    if (is_for_several() && !nodes_.empty()) words += " --nnodes " + nodes_;
    return submit_.empty() ? words : words + ' ' + shell_line(submit_);
  }

  void add_name() {
    const std::string given = take("name");
    const std::string name = given.empty() ? input_.name : given;
    if (!name.empty())
      add(given.empty() ? "The name of the folder." : "", text_key({"name"}, name));
  }

  void add_command() {
    std::vector<std::string> words;
    std::set<std::string> unknown;
    bool is_bash = false;
    const VariableValue secrets = [this](std::string_view name) {
      const auto& env = source_.script.env;
      const bool is_known = is_secret(name) && std::any_of(env.begin(), env.end(), [&](auto& one) {
                              return one.key == name;
                            });
      return is_known ? std::optional<std::string>("-") : std::nullopt;
    };
    for (const ExpandedWord& word : line_.program) {
      if (word.spelled.empty() || is_arguments(word.spelled)) continue;
      words.push_back(revealed(word.spelled));
      is_bash = is_bash || needs_bash(words.back());
      if (!expanded(word.spelled, secrets).is_known) unknown.insert(revealed(word.text));
    }
    const std::string command = joined(words, " ");
    text_ += '\n' + commented(source_.is_guess
                                  ? "Guessed from the script's name: every rank runs this."
                                  : "Every rank runs this; words after -- are appended to it.");
    text_ += command_key(command);
    if (!unknown.empty())
      text_ += commented("Only the script knows these values; set their variables in env: " +
                         joined(unknown));
    add_setup(is_bash);
    const std::string folder = take("workdir");
    const std::string workdir = folder.empty() ? source_.script.workdir : folder;
    if (!workdir.empty()) add("", text_key({"workdir"}, workdir));
    if (!framework_.name.empty())
      add("Which variables the ranks get: " + framework_.why + ".",
          text_key({"framework"}, framework_.name));
  }

  /// `is_bash`: the command needs bash.
  void add_setup(bool is_bash) {
    std::string lines = revealed(joined(source_.script.setup, "\n"));
    std::string comment = "Lines of " + source_.where.substr(0, source_.where.rfind(':')) +
                          " that prepare the shell.";
    for (const char* folder : {".venv", "venv", "env"}) {
      const std::string activate = std::string(folder) + "/bin/activate";
      if (!lines.empty() || file_named(input_, activate) == nullptr) continue;
      lines = ". " + activate;
      comment = "The virtual environment of this folder.";
    }
    if (!lines.empty()) {
      add(comment, text_key({"setup"}, lines));
      is_bash = true;
    }
    if (is_bash) text_ += "shell: bash\n";
    if (!lines.empty()) return;
    for (const char* name : {"requirements.txt", "pyproject.toml", "environment.yml"}) {
      if (file_named(input_, name) == nullptr) continue;
      const bool is_conda = std::string_view(name) == "environment.yml";
      const std::string how = is_conda ? "conda env create -f environment.yml"
                              : std::string_view(name) == "pyproject.toml"
                                  ? "pip install ."
                                  : "pip install -r requirements.txt";
      text_ += '\n' + commented(std::string(name) +
                                ": ranks use the Python that is active when dlaunch starts, or "
                                "that of setup.");
      text_ += "#   " + how + "\n# setup: . .venv/bin/activate\n";
      return;
    }
  }

  /// Whether the job needs several nodes.
  [[nodiscard]] bool is_for_several() const {
    const auto nodes = parse_integer(nodes_);
    return (!nodes_.empty() && !nodes) || (nodes && *nodes > 1);
  }

  void add_counts() {
    const std::string gpus = take("gpus");
    if (!gpus.empty()) per_node_ = gpus;
    bool is_counted = !total_.empty() || !per_node_.empty();
    if (!total_.empty()) {
      is_counted = add("How many ranks in all.", counted_key("processes", total_));
    } else if (is_counted) {
      is_counted = add("Ranks on each node.", counted_key("processes_per_node", per_node_));
    }
    if (!is_counted)
      add("Ranks on each node; auto: one for each GPU, else 1.", "processes_per_node: auto\n");
    const std::string hosts = take("hosts");
    const std::string hostfile = take("hostfile");
    if (!hosts.empty()) add("Where to run; slots after the colon.", text_key({"hosts"}, hosts));
    if (!hostfile.empty()) add("Where to run.", text_key({"hostfile"}, hostfile));
    const bool has_hosts = !hosts.empty() || !hostfile.empty();
    if (has_hosts && !nodes_.empty()) add("", nodes_yaml());
    if (has_hosts) return;
    text_ += '\n';
    if (is_for_several()) {
      text_ += commented(source_.where + " is for " + nodes_ +
                         " nodes. Until they are named here, the job runs on this machine; in a "
                         "Slurm allocation nodes is enough.");
      text_ += commented_yaml(nodes_yaml());
    } else {
      text_ += commented("The job runs on this machine. For several machines, over ssh:");
    }
    text_ += "# hosts: [gpu01, \"gpu[02-04]\"]\n";
  }

  [[nodiscard]] std::string nodes_yaml() const {
    const auto colon = nodes_.find(':');
    if (colon == std::string::npos) return counted_key("nodes", nodes_);
    return yaml_of([&](NativeJob& job) {
      job.text({"nodes", "min"}, nodes_.substr(0, colon), {});
      job.text({"nodes", "max"}, nodes_.substr(colon + 1), {});
    });
  }

  void add_environment() {
    std::vector<OwnSetting> env;
    std::vector<std::string> dropped;
    std::vector<std::string> secrets;
    for (const OwnSetting& one : settings_) {
      if (!one.key.starts_with("env.")) continue;
      const std::string name = one.key.substr(4);
      if (is_rank_variable(framework_named(framework_.name), name)) {
        dropped.push_back(name);
      } else if (is_secret(name)) {
        if (!contains(secrets, name) && accepts(list_key("env_secret", {name})))
          secrets.push_back(name);
      } else if (accepts(yaml_of([&](NativeJob& job) {
                   job.text({"env", name}, one.value, {});
                 }))) {
        std::erase_if(env, [&](const OwnSetting& old) { return old.key == name; });
        env.push_back({name, one.value});
      }
    }
    std::erase_if(settings_, [](const OwnSetting& one) { return one.key.starts_with("env."); });
    if (!env.empty()) {
      add("", yaml_of([&](NativeJob& job) {
            for (const OwnSetting& one : env) job.text({"env", one.key}, one.value, {});
          }));
    }
    if (!secrets.empty())
      add("Secret values stay out of this file: set these variables in the shell that starts "
          "dlaunch.",
          list_key("env_secret", secrets));
    std::erase_if(passed_, [this](const std::string& name) {
      return !accepts(list_key("env_pass", {name}));
    });
    if (!passed_.empty())
      add("Variables of the shell that starts dlaunch, for all nodes.",
          list_key("env_pass", passed_));
    if (!dropped.empty())
      left_out_.push_back({joined(dropped), "dlaunch sets these for each rank"});
    for (const std::string& name : source_.script.env_unknown)
      left_out_.push_back(
          {"export " + name, "known only when the script runs; set it in env or setup"});
  }

  void add_settings() {
    std::vector<OwnSetting> kept;
    for (const OwnSetting& one : settings_) {
      const bool is_option = one.key == "include" || one.key == "exclude";
      if (is_option) {
        left_out_.push_back(
            {one.key + ' ' + one.value, "give it as an option: dlaunch run --" + one.key});
      } else if (one.key.starts_with("rendezvous.")) {
        left_out_.push_back(
            {one.key + ' ' + one.value, "not needed: dlaunch finds address and port by itself"});
      } else if (accepts(yaml_of([&](NativeJob& job) { put(job, one); }))) {
        kept.push_back(one);
      }
    }
    if (kept.empty()) return;
    add("", yaml_of([&](NativeJob& job) {
          for (const OwnSetting& one : kept) put(job, one);
        }));
  }

  static void put(NativeJob& job, const OwnSetting& setting) {
    const auto dot = setting.key.find('.');
    const std::string name = dot == std::string::npos ? "" : setting.key.substr(dot + 1);
    NativeJob::Path path{std::string_view(setting.key).substr(0, dot)};
    if (!name.empty()) path.emplace_back(name);
    if (const auto number = parse_integer(setting.value)) {
      job.number(path, *number, {});
    } else {
      job.text(path, setting.value, {});
    }
  }

  void add_container() {
    const bool has_image =
        std::any_of(input_.files.begin(), input_.files.end(), [](const auto& one) {
          return one.name.starts_with("Dockerfile") || one.name.starts_with("Containerfile");
        });
    if (!has_image) return;
    const std::string image = input_.name.empty() ? "train" : lower(input_.name);
    text_ += '\n' + commented("The folder has a Dockerfile. To run in its image (docker build -t " +
                              shell_quote(image) + " .):");
    text_ += commented_yaml(text_key({"container", "image"}, image));
  }

  void add_left_out() {
    const std::string launcher = line_.launcher;
    if (launcher.find("deepspeed") != std::string::npos)
      left_out_.push_back({"--local_rank", "ranks get LOCAL_RANK only as a variable"});
    for (const std::string& word : program_words(line_)) {
      const FoundFile* script = file_named(input_, word);
      if (script != nullptr && script->text.find("SLURM_PROCID") != std::string::npos)
        left_out_.push_back({"SLURM_PROCID in " + word,
                             "dlaunch does not set it: read RANK, LOCAL_RANK and WORLD_SIZE"});
    }
    if (left_out_.empty()) return;
    text_ += "\n# Left out:\n";
    for (const LeftOut& one : left_out_)
      text_ += commented(one.typed + ": " + one.why, "#   ", "#     ");
  }

  const DraftInput& input_;
  const DraftSource& source_;
  const std::vector<DraftSource>& all_;
  const LaunchLine& line_;
  FrameworkFound framework_;
  std::string text_;
  std::string total_;
  std::string per_node_;
  std::string nodes_;
  std::vector<OwnSetting> settings_;
  std::vector<LeftOut> left_out_;
  std::vector<std::string> passed_;
  std::vector<std::string> submit_;
};

}  // namespace

Result<JobDraft> draft_job(const DraftInput& input) {
  for (const std::string& word : input.command) {
    if (!check_text(word).empty())
      return fail(exit_code::kUsage, "an argument is not UTF-8, so no job file can hold it");
  }
  const std::vector<DraftSource> sources = draft_sources(input);
  if (sources.empty() && !input.command.empty())
    return fail(exit_code::kUsage,
                "the command starts no program\n         try: dlaunch init -- torchrun "
                "--nproc_per_node 2 train.py");
  if (sources.empty())
    return fail(exit_code::kUsage,
                "found nothing that starts a job: no script with torchrun, mpirun, srun, deepspeed "
                "or accelerate, and no train.py or main.py\n         try: dlaunch init -- python3 "
                "SCRIPT");
  JobDraft draft;
  draft.text = DraftWriter(input, sources.front(), sources).write();
  for (const DraftSource& one : sources) {
    const std::string& launcher = one.script.line->launcher;
    draft.found.push_back(one.where + (launcher.empty() ? "" : ": " + launcher));
  }
  return draft;
}

}  // namespace dlaunch::jobfile
