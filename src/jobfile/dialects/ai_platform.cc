// Google AI Platform Training: the `trainingInput` of a job, the input of `gcloud ai-platform jobs
// submit --config`. Rules: "TrainingInput" and "ReplicaConfig" of its REST reference, "Use
// TF_CONFIG for distributed training", "Distributed training with containers".
#include <array>

#include "jobfile/dialects/dialect.h"
#include "jobfile/dialects/paths.h"
#include "jobfile/dialects/replicas.h"
#include "jobfile/suggestion.h"

namespace dlaunch::jobfile {

namespace {

constexpr std::string_view kKey = "trainingInput";

constexpr KeyName kKeyNames[] = {{"name", "jobId"},
                                 {"timeouts.run", "scheduling.maxRunningTime"},
                                 {"container.image", "masterConfig.imageUri"},
                                 {"roles.chief.container.image", "masterConfig.imageUri"},
                                 {"roles.worker.container.image", "workerConfig.imageUri"},
                                 {"roles.ps.container.image", "parameterServerConfig.imageUri"},
                                 {"roles.evaluator.container.image", "evaluatorConfig.imageUri"},
                                 {"roles.worker.count", "workerCount"},
                                 {"roles.ps.count", "parameterServerCount"},
                                 {"roles.evaluator.count", "evaluatorCount"},
                                 {"roles.chief.command", "containerCommand"},
                                 {"roles.*.command", "containerCommand"}};

std::string why_not_ai_platform(const Document& document, NodeId root) {
  const bool is_given = document.find(root, kKey) || document.find(root, "training_input");
  return is_given ? "" : "no trainingInput";
}

/// The machine types and counts of a scale tier.
struct Tier {
  std::string_view name;
  std::int64_t workers;
  std::int64_t servers;
};
constexpr std::array<Tier, 4> kTiers{
    {{"BASIC", 0, 0}, {"BASIC_GPU", 0, 0}, {"STANDARD_1", 4, 3}, {"PREMIUM_1", 19, 11}}};

struct Pool {
  const char* role;
  const char* count;
  const char* type;
  const char* config;
};
constexpr std::array<Pool, 4> kPools{
    {{"chief", "", "masterType", "masterConfig"},
     {"worker", "workerCount", "workerType", "workerConfig"},
     {"ps", "parameterServerCount", "parameterServerType", "parameterServerConfig"},
     {"evaluator", "evaluatorCount", "evaluatorType", "evaluatorConfig"}}};

class TrainingInput {
 public:
  explicit TrainingInput(Translation& translation)
      : t_(translation),
        top_(t_.document, t_.diagnostics, Spelling::loose, t_.root, ""),
        keys_(top_.mapping(kKey)) {}

  void translate() {
    if (!keys_.is_given()) return empty();
    t_.job.text({"framework"}, "gcp", keys_.range());
    if (const auto name = top_.text("jobId")) t_.job.text({"name"}, name->text, name->range);
    if (const auto tuning = keys_.find("hyperparameters")) {
      t_.diagnostics.error(tuning->key,
                           "hyperparameters search for the best of many runs, which dlaunch does "
                           "not do; leave them out, and give the values in args");
    }
    read_tier();
    read_arguments();
    std::vector<Replicas> groups;
    groups.reserve(std::size(kPools));
    for (const Pool& pool : kPools) groups.push_back(read_pool(pool));
    set_roles(t_, groups);
    read_rest();
  }

 private:
  /// Reports an empty trainingInput. Published examples have its keys at the wrong indentation.
  void empty() {
    const auto entry = t_.document.find(t_.root, kKey);
    if (!entry) return;
    const bool has_more = entry->value != t_.document[t_.root].items.back();
    t_.diagnostics.error(t_.document[entry->key].range,
                         has_more ? "trainingInput is empty; the keys below it must be indented"
                                  : "trainingInput is empty");
  }

  void read_tier() {
    const auto tier = keys_.text("scaleTier");
    is_custom_ = tier && tier->text == "CUSTOM";
    if (is_custom_) return;
    const std::string name = tier ? tier->text : "BASIC";
    for (const Tier& known : kTiers) {
      if (known.name != name) continue;
      tier_ = known;
      return;
    }
    is_known_ = false;
    t_.diagnostics.error(tier->range, "scaleTier " + in_quotes(name) + why_no_tier(name));
  }

  static std::string why_no_tier(const std::string& name) {
    if (name == "BASIC_TPU") return " has TPUs, which dlaunch does not support";
    std::vector<std::string_view> tiers{"CUSTOM"};
    for (const Tier& tier : kTiers) tiers.push_back(tier.name);
    return " does not exist" + did_you_mean(name, tiers) +
           "; the tiers are BASIC, STANDARD_1, PREMIUM_1, BASIC_GPU and CUSTOM";
  }

  void read_arguments() {
    args_ = keys_.texts("args");
    if (const auto folder = keys_.text("jobDir"))
      job_dir_ = {{"--job-dir", folder->range}, *folder};
    module_ = keys_.text("pythonModule");
    const DialectOptions& given = t_.input.foreign;
    if (!given.module.origin.empty()) module_ = LocatedText{given.module.value, keys_.range()};
    if (given.package.origin.empty()) return;
    // gcloud packages the folder from its parent folder.
    const std::string package = path_below(given.current_folder, given.package.value);
    t_.job.text({"workdir"}, path_below(package, ".."), keys_.range());
    if (!module_ && !keys_.has_mistake("pythonModule"))
      t_.diagnostics.error(keys_.range(),
                           given.package.origin + " needs the module to run: --module NAME");
  }

  Replicas read_pool(const Pool& pool) {
    Replicas group;
    group.role = pool.role;
    group.range = keys_.range();
    group.count = {count_of(pool), keys_.range()};
    const std::string_view count_key = pool.count;
    const auto type = keys_.text(pool.type);
    if (!count_key.empty()) {
      if (const auto count = keys_.integer(count_key)) {
        group.count = *count;
        check_custom(count_key, count->range);
        if (is_custom_ && count->value > 0 && !type) {
          t_.diagnostics.error(count->range, std::string(count_key) + " needs " + pool.type);
        }
      }
    } else if (is_custom_ && !type) {
      t_.diagnostics.error(keys_.range(), "scaleTier: CUSTOM needs masterType");
    }
    if (type) check_custom(pool.type, type->range);
    if (type && type->text.starts_with("cloud_tpu")) {
      t_.diagnostics.error(type->range, std::string(pool.type) + ' ' + in_quotes(type->text) +
                                            " is a TPU, which dlaunch does not support");
    }
    ForeignKeys config = keys_.mapping(pool.config);
    if (config.is_given()) group.range = config.range();
    read_program(pool, config, group);
    return group;
  }

  [[nodiscard]] std::int64_t count_of(const Pool& pool) const {
    const std::string_view role = pool.role;
    if (role == "chief") return 1;
    if (role == "worker") return tier_.workers;
    return role == "ps" ? tier_.servers : 0;
  }

  /// Reports `key` unless the tier is CUSTOM. An unknown tier was already reported.
  void check_custom(std::string_view key, SourceRange at) {
    if (!is_custom_ && is_known_)
      t_.diagnostics.error(at, std::string(key) + " applies only with scaleTier: CUSTOM");
  }

  /// "workerConfig.imageUri: if not set, AI Platform uses the value of masterConfig.imageUri"; the
  /// master's command and args come with that image. "If you supply a command but no args, your
  /// command is run without any arguments": the arguments of the image are not used.
  void read_program(const Pool& pool, ForeignKeys& config, Replicas& group) {
    const auto image = config.text("imageUri");
    if (std::string_view(pool.role) == "chief" && image) master_image_ = *image;
    group.image = image.value_or(master_image_);
    config.skip({"acceleratorConfig", "diskConfig", "tpuTfVersion"});
    const auto own_command = config.texts("containerCommand");
    const auto own_args = config.texts("containerArgs");
    if (std::string_view(pool.role) == "chief") {
      master_command_ = own_command;
      master_args_ = own_args;
    }
    const bool is_masters = !image && own_command.empty();
    group.command = is_masters ? master_command_ : own_command;
    group.args = is_masters && own_args.empty() ? master_args_ : own_args;
    if (group.args.empty()) group.args = args_;
    group.args.insert(group.args.end(), job_dir_.begin(), job_dir_.end());
    const bool is_module_given = !t_.input.foreign.module.origin.empty();
    if (group.command.empty() && module_ && (is_module_given || group.image.text.empty()))
      group.command = {{"python3", module_->range}, {"-m", module_->range}, *module_};
    const bool has_program =
        !group.image.text.empty() || !group.command.empty() || t_.is_set("command");
    if (!has_program && !may_take_arguments(pool)) {
      group.count.value = 0;
      return;
    }
    config.refuse_others();
  }

  /// Whether the words after "--" may name the program, which most files leave to gcloud's command
  /// line. In gcloud such words are arguments of a module, so options alone mean that the module is
  /// missing; this is reported.
  bool may_take_arguments(const Pool& pool) {
    const std::vector<std::string>& words = t_.input.arguments;
    const bool has_program = !words.empty() && !words.front().starts_with('-');
    if (has_program) return true;
    const bool is_reported = std::string_view(pool.role) != "chief" ||
                             !t_.input.foreign.package.origin.empty() ||
                             keys_.has_mistake("pythonModule") || keys_.has_mistake("masterConfig");
    if (is_reported) return false;
    t_.diagnostics.error(
        keys_.range(),
        (words.empty() ? "the file does not say what to run: it has no pythonModule, and no "
                         "imageUri in masterConfig"
                       : "the words after -- begin with an option, " + in_quotes(words.front()) +
                             ", and the file has no pythonModule to pass it to") +
            "; name the module as for gcloud: --module trainer.task --package-path ./trainer, or "
            "give the command after --: -- python3 train.py");
    return false;
  }

  void read_rest() {
    ForeignKeys scheduling = keys_.mapping("scheduling");
    if (const auto limit = scheduling.text("maxRunningTime")) set_limit(t_, *limit);
    keys_.skip({"region", "pythonVersion", "enableWebAccess"});
    for (const LocatedText& key : keys_.given_of(
             {"packageUris", "serviceAccount", "network", "encryptionConfig", "runtimeVersion"}))
      t_.not_used.push_back(key);
    name_chief();
    keys_.refuse_others();
    top_.skip({"labels", "jobId"});
    top_.refuse_misspelt();
    for (const LocatedText& key : top_.others()) t_.not_used.push_back(key);
  }

  /// "chief versus master": runtimes up to 1.15 say master, later ones chief; a custom container
  /// gets master unless useChiefInTfConfig is true, which has no effect without an image.
  void name_chief() {
    const bool wants_chief = keys_.is_true("useChiefInTfConfig");
    const auto version = keys_.text("runtimeVersion");
    const bool is_old = version && version->text.starts_with("1.");
    const bool is_container = !master_image_.text.empty();
    if (is_container ? !wants_chief : is_old)
      t_.job.text({"gcp", "tf_config"}, "master",
                  is_container ? master_image_.range : version->range);
  }

  Translation& t_;
  ForeignKeys top_;
  ForeignKeys keys_;
  bool is_custom_ = false;
  bool is_known_ = true;  // whether the tier is known
  Tier tier_{"", 0, 0};
  std::vector<LocatedText> args_;
  std::vector<LocatedText> job_dir_;
  std::optional<LocatedText> module_;
  LocatedText master_image_;
  std::vector<LocatedText> master_command_;
  std::vector<LocatedText> master_args_;
};

}  // namespace

const Dialect kAiPlatform{.name = "AI Platform Training",
                          .why_not = why_not_ai_platform,
                          .translate = [](Translation& t) { TrainingInput(t).translate(); },
                          .own_key = kKey,
                          .key_names = kKeyNames,
                          .has_modules = true,
                          .starts_in_image = true};

}  // namespace dlaunch::jobfile
