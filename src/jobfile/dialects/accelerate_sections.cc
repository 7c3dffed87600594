// Reads the sections of a config file according to a table.
#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "jobfile/dialects/accelerate.h"
#include "jobfile/expectation.h"
#include "jobfile/scalar.h"
#include "jobfile/suggestion.h"
#include "text/strings.h"

namespace dlaunch::jobfile::accelerate {

namespace {

enum class Letters { exact, lower, upper };

struct Option {
  std::string_view key;           // without the section's prefix
  std::string_view initial = {};  // the variable's value if the key is absent; empty: not set
  Letters letters = Letters::exact;
  std::string_view variable = {};   // empty: the section's prefix and the key in upper case
  std::string_view only_with = {};  // not set unless this other key of the section is above 1
};

enum class Prefix { none, needed, added };  // added: accelerate prepends it to keys without it
enum class Others { noted, passed };        // what happens to keys that are not in `options`

struct Section {
  std::string_view name;
  std::string_view prefix;  // of the section's keys
  Prefix has_prefix;
  std::string_view variables;  // prefix of the section's variables
  std::string_view use;        // a variable that marks the section as used; empty: none
  std::span<const Option> options;
  bool (*is_used)(const Settings& settings, bool is_given);
  Others others = Others::noted;
};

}  // namespace

namespace {

constexpr Option kDeepspeed[] = {
    {"zero_stage"},
    {"offload_optimizer_device", {}, Letters::lower},
    {"offload_param_device", {}, Letters::lower},
    {"offload_optimizer_nvme_path"},
    {"offload_param_nvme_path"},
    {"zero3_init_flag", {}, Letters::lower, "ACCELERATE_DEEPSPEED_ZERO3_INIT"},
    {"zero3_save_16bit_model", {}, Letters::lower},
    {"deepspeed_config_file", {}, Letters::exact, "ACCELERATE_DEEPSPEED_CONFIG_FILE"},
    {"deepspeed_moe_layer_cls_names",
     {},
     Letters::exact,
     "ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES"},
    {"gradient_accumulation_steps", {}, Letters::exact, "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"},
    {"gradient_clipping", {}, Letters::lower, "ACCELERATE_GRADIENT_CLIPPING"},
    {"msamp_opt_level"},
    {"zero3_leaf_modules"}};

constexpr Option kFsdp[] = {
    {"version", "1"},
    {"sharding_strategy", "FULL_SHARD"},
    {"reshard_after_forward", "true", Letters::lower},
    {"offload_params", "false", Letters::lower},
    {"min_num_params", "100000000"},
    {"auto_wrap_policy"},
    {"transformer_layer_cls_to_wrap", {}, Letters::exact, "FSDP_TRANSFORMER_CLS_TO_WRAP"},
    {"backward_prefetch_policy", {}, Letters::exact, "FSDP_BACKWARD_PREFETCH"},  // up to 0.34
    {"backward_prefetch"},
    {"state_dict_type"},
    {"forward_prefetch", "false", Letters::lower},
    {"use_orig_params", "true", Letters::lower},
    {"cpu_ram_efficient_loading", "true", Letters::lower},
    {"sync_module_states", "true", Letters::lower},
    {"activation_checkpointing", "false", Letters::lower},
    {"activation_checkpointing_offload", "false", Letters::lower},
    {"ignored_modules"}};

constexpr Option kMegatron[] = {{"tp_degree", "1"},
                                {"use_custom_fsdp", "False"},
                                {"no_load_optim", "False"},
                                {"eod_mask_loss", "False"},
                                {"no_save_optim", "False"},
                                {"optimizer_cpu_offload", "False"},
                                {"use_precision_aware_optimizer", "False"},
                                {"overlap_cpu_optimizer_d2h_h2d", "False"},
                                {"decoder_last_pipeline_num_layers"},
                                {"pp_degree", "1"},
                                {"gradient_clipping", "1.0"},
                                {"num_micro_batches"},
                                {"sequence_parallelism"},
                                {"recompute_activations"},
                                {"use_distributed_optimizer"},
                                {"recompute_granularity"},
                                {"recompute_method"},
                                {"recompute_num_layers"},
                                {"attention_backend"},
                                {"expert_model_parallel_size"},
                                {"context_parallel_size"},
                                {"attention_dropout"},
                                {"hidden_dropout"},
                                {"attention_softmax_in_fp32"},
                                {"expert_tensor_parallel_size"},
                                {"calculate_per_token_loss"},
                                {"use_rotary_position_embeddings"}};

constexpr Option kParallelism[] = {
    {"dp_replicate_size", "1"},
    {"dp_shard_size", "1"},
    {"tp_size", "1"},
    {"cp_size", "1"},
    {"cp_backend", "torch"},
    {"cp_comm_strategy", "allgather", Letters::exact, {}, "cp_size"},
    {"sp_size", "1"},
    {"sp_backend", "deepspeed"},
    {"sp_seq_length", "None", Letters::exact, {}, "sp_size"},
    {"sp_seq_length_is_variable", "True", Letters::exact, {}, "sp_size"},
    {"sp_attn_implementation", "sdpa", Letters::exact, {}, "sp_size"}};

constexpr Option kDynamo[] = {{"backend", "NO", Letters::upper},
                              {"mode", "default"},
                              {"use_fullgraph", "False"},
                              {"use_dynamic", "False"},
                              {"use_regional_compilation", "False"}};

constexpr Option kFp8[] = {{"backend"},
                           {"use_autocast_during_eval", "False"},
                           {"margin", "0"},
                           {"interval", "1"},
                           {"format", "HYBRID"},
                           {"amax_history_len", "1024"},
                           {"amax_compute_algo", "most_recent"},
                           {"opt_level", "O2"},
                           {"enable_fsdp_float8_all_gather", "1"},
                           {"pad_inner_dim", "1"}};
// Sections of older releases: tensor parallelism (1.3 to 1.9), Intel's extension (up to 1.12).
constexpr Option kTensors[] = {{"size", "1"}};
constexpr Option kIntel[] = {{"ipex", {}, Letters::lower, "ACCELERATE_USE_IPEX"},
                             {"use_xpu", {}, Letters::lower, "ACCELERATE_USE_XPU"}};
constexpr Option kMpirun[] = {{"mpirun_ccl", {}, Letters::exact, "CCL_WORKER_COUNT"}};

constexpr Section kSections[] = {
    {"deepspeed_config", "", Prefix::none, "ACCELERATE_DEEPSPEED_", "ACCELERATE_USE_DEEPSPEED",
     kDeepspeed, [](const Settings& s, bool) { return s.type == "DEEPSPEED"; }},
    {"fsdp_config", "fsdp_", Prefix::added, "FSDP_", "ACCELERATE_USE_FSDP", kFsdp,
     [](const Settings& s, bool) { return s.type == "FSDP"; }},
    {"megatron_lm_config", "megatron_lm_", Prefix::needed, "MEGATRON_LM_",
     "ACCELERATE_USE_MEGATRON_LM", kMegatron,
     [](const Settings& s, bool) { return s.type == "MEGATRON_LM"; }},
    {"parallelism_config", "parallelism_config_", Prefix::needed, "PARALLELISM_CONFIG_",
     "ACCELERATE_USE_PARALLELISM_CONFIG", kParallelism,
     [](const Settings& s, bool is_given) { return is_given && !s.is_simple(); }},
    {"dynamo_config", "dynamo_", Prefix::added, "ACCELERATE_DYNAMO_", "", kDynamo,
     [](const Settings& s, bool) { return s.type != "DEEPSPEED"; }},
    {"fp8_config", "fp8_", Prefix::added, "ACCELERATE_FP8_", "", kFp8,
     [](const Settings& s, bool) { return s.precision == "fp8"; }, Others::passed},
    {"tp_config", "tp_", Prefix::needed, "TP_", "ACCELERATE_USE_TP", kTensors,
     [](const Settings& s, bool) { return s.type == "TP"; }},
    {"ipex_config", "", Prefix::none, "ACCELERATE_", "", kIntel,
     [](const Settings& s, bool) { return s.is_simple(); }},
    {"mpirun_config", "", Prefix::none, "", "", kMpirun,
     [](const Settings& s, bool) { return s.type == "MULTI_CPU"; }}};

}  // namespace

std::span<const Section> sections() {
  return kSections;
}

namespace {

/// An option with three values; each has its own variable.
constexpr std::string_view kFp8Override = "fp8_override_linear_precision";
constexpr std::string_view kFp8Overrides[] = {"ACCELERATE_FP8_OVERRIDE_FPROP",
                                              "ACCELERATE_FP8_OVERRIDE_DGRAD",
                                              "ACCELERATE_FP8_OVERRIDE_WGRAD"};

/// Settings for the launcher, which is dlaunch here.
constexpr std::string_view kOfLaunchers[] = {"deepspeed_multinode_launcher", "deepspeed_hostfile",
                                             "deepspeed_inclusion_filter",
                                             "deepspeed_exclusion_filter", "mpirun_hostfile"};

std::string with_letters(const std::string& text, Letters letters) {
  return letters == Letters::lower ? lower(text) : letters == Letters::upper ? upper(text) : text;
}

/// A YAML scalar in the form of Python's str() after accelerate's YAML 1.1 parser.
std::string python_text(const Node& node) {
  if (!node.plain) return node.text;
  const std::string small = lower(node.text);
  if (small == "true" || small == "yes" || small == "on") return "True";
  if (small == "false" || small == "no" || small == "off") return "False";
  return node.text;
}

class SectionReader {
 public:
  SectionReader(Translation& translation, const Section& section, ForeignKeys keys,
                SourceRange file)
      : t_(translation), section_(section), keys_(std::move(keys)), file_(file) {}

  void read(const Settings& settings) {
    const std::vector<ForeignKey> given = keys_.all();
    if (!section_.is_used(settings, !given.empty())) {
      if (!given.empty()) t_.not_used.push_back({std::string(section_.name), keys_.range()});
      return;
    }
    if (!section_.use.empty()) set(section_.use, "true", range());
    for (const Option& option : section_.options) set_initial(option);
    for (const ForeignKey& key : given) read_key(key);
    if (section_.name == "fp8_config") set_initial_overrides();
    if (section_.name == "fsdp_config") check_loading();
  }

 private:
  [[nodiscard]] SourceRange range() const { return keys_.is_given() ? keys_.range() : file_; }

  void set(std::string_view variable, const std::string& value, SourceRange at) {
    t_.job.text({"env", variable}, value, at);
  }

  [[nodiscard]] std::string whole_key(const Option& option) const {
    return std::string(section_.prefix) + std::string(option.key);
  }

  [[nodiscard]] std::string variable_of(const Option& option) const {
    return option.variable.empty() ? std::string(section_.variables) + upper(option.key)
                                   : std::string(option.variable);
  }

  /// The scalar of a key of the section. If accelerate adds the prefix, the key may lack it.
  [[nodiscard]] std::optional<std::string> given(std::string_view key) const {
    if (!keys_.is_given()) return std::nullopt;
    auto value =
        scalar_of(t_.document, keys_.node(), std::string(section_.prefix) + std::string(key));
    if (!value && section_.has_prefix == Prefix::added)
      value = scalar_of(t_.document, keys_.node(), key);
    return value;
  }

  [[nodiscard]] bool has_its_other(const Option& option) const {
    if (option.only_with.empty()) return true;
    const auto other = parse_integer(given(option.only_with).value_or("1"));
    return other && *other > 1;
  }

  void set_initial(const Option& option) {
    if (!option.initial.empty() && has_its_other(option))
      set(variable_of(option), std::string(option.initial), range());
  }

  void read_key(const ForeignKey& key) {
    const bool has_prefix = key.name.starts_with(section_.prefix);
    const std::string whole =
        (section_.has_prefix == Prefix::added && !has_prefix ? std::string(section_.prefix) : "") +
        key.name;
    if (whole == kFp8Override && section_.name == "fp8_config") return read_overrides(key);
    for (const Option& option : section_.options)
      if (whole_key(option) == whole) return read_value(key, option);
    read_other(key, whole);
  }

  void read_value(const ForeignKey& key, const Option& option) {
    const Node& node = t_.document[key.value];
    if (node.kind == NodeKind::null || is_plain_type(node, PlainType::null)) return;
    if (node.kind != NodeKind::scalar)
      return t_.diagnostics.error(key.key, keys_.path_of(key.name) + " must have one value, not " +
                                               found_instead(node) +
                                               "; write several values as a, b");
    if (has_its_other(option))
      set(variable_of(option), with_letters(python_text(node), option.letters),
          range_of(t_.document, key));
  }

  /// Reads a key that is not in the table, which may be a typing error or a key of another release.
  /// accelerate accepts any key here and silently ignores unknown ones.
  void read_other(const ForeignKey& key, const std::string& whole) {
    std::vector<std::string> names;
    for (const Option& option : section_.options) names.push_back(whole_key(option));
    const std::string meant = did_you_mean(whole, {names.begin(), names.end()});
    const bool lacks_prefix = contains(names, std::string(section_.prefix) + key.name);
    const Node& node = t_.document[key.value];
    if (!contains(kOfLaunchers, key.name)) {
      if (section_.others == Others::passed && node.kind == NodeKind::scalar)
        return read_value(key, Option{std::string_view(whole).substr(section_.prefix.size())});
      if (!meant.empty() || lacks_prefix) {
        const std::string prefixed = std::string(section_.prefix) + key.name;
        return t_.note_at(
            key.key, keys_.path_of(key.name) + " is not a key of accelerate, which ignores it" +
                         (lacks_prefix ? ", did you mean \"" + prefixed + "\"?" : meant));
      }
    }
    t_.not_used.push_back({keys_.path_of(key.name), key.key});
  }

  /// Reads [false, true, true] or Python's form, "(false, true, true)". Without the key all are
  /// false.
  void read_overrides(const ForeignKey& key) {
    const Node& node = t_.document[key.value];
    if (node.kind == NodeKind::scalar)
      return read_written_overrides(node.text, range_of(t_.document, key));
    const bool is_three = node.kind == NodeKind::sequence && node.items.size() == 3;
    if (!is_three)
      return t_.diagnostics.error(key.key, keys_.path_of(key.name) +
                                               " must be a list of three booleans, such as "
                                               "[false, false, true]");
    for (std::size_t i = 0; i < 3; ++i) {
      const Node& item = t_.document[node.items[i]];
      set(kFp8Overrides[i], python_text(item), item.range);
    }
  }

  void read_written_overrides(const std::string& text, SourceRange at) {
    const std::string small = lower(text);
    std::size_t begin = 0;
    for (const std::string_view variable : kFp8Overrides) {
      const auto end = std::min(small.find(',', begin), small.size());
      const std::string_view one = std::string_view(small).substr(begin, end - begin);
      set(variable, one.find("true") != std::string_view::npos ? "True" : "False", at);
      begin = std::min(end + 1, small.size());
    }
  }

  void set_initial_overrides() {
    for (const std::string_view variable : kFp8Overrides)
      if (!t_.job.has({"env", variable})) set(variable, "False", range());
  }

  /// Reports sync_module_states: false where prepare_multi_gpu_env() raises an error: one rank
  /// loads the weights, and only this synchronization sends them to the other ranks.
  void check_loading() {
    const auto loads = keys_.is_given() ? given("cpu_ram_efficient_loading") : std::nullopt;
    const bool is_off = loads && lower(*loads) == "false";
    for (const ForeignKey& key : keys_.all()) {
      const bool is_sync =
          key.name == "fsdp_sync_module_states" || key.name == "sync_module_states";
      if (!is_sync || is_off || python_text(t_.document[key.value]) != "False") continue;
      if (!t_.document[key.value].plain) continue;  // accelerate takes a text for true
      t_.diagnostics.error(range_of(t_.document, key),
                           keys_.path_of(key.name) +
                               ": false needs fsdp_cpu_ram_efficient_loading: false (default: "
                               "true); accelerate launch refuses this combination, too");
    }
  }

  Translation& t_;
  const Section& section_;
  ForeignKeys keys_;
  SourceRange file_;
};

/// Tells accelerate's DeepSpeed plugin which keys the file has, whether it reads them or not.
void name_deepspeed_fields(Translation& t, ForeignKeys& file) {
  std::string fields;
  const auto section = value_of(t.document, file.node(), "deepspeed_config");
  if (section) {
    for (const Document::Entry& entry : t.document.entries(*section))
      fields += (fields.empty() ? "" : ",") + t.document[entry.key].text;
  }
  if (file.text("mixed_precision"))
    fields += (fields.empty() ? "" : ",") + std::string("mixed_precision");
  t.job.text({"env", "ACCELERATE_CONFIG_DS_FIELDS"}, lower(fields), file.range());
}

}  // namespace

void read_sections(Translation& translation, ForeignKeys& keys, const Settings& settings) {
  for (const Section& section : sections())
    SectionReader(translation, section, keys.mapping(section.name), keys.range()).read(settings);
  if (settings.type == "DEEPSPEED") name_deepspeed_fields(translation, keys);
  // Before 0.16 there was a top-level key for the backend instead of the section.
  const auto backend = keys.text("dynamo_backend");
  if (backend && settings.type != "DEEPSPEED")
    translation.job.text({"env", "ACCELERATE_DYNAMO_BACKEND"}, upper(backend->text),
                         backend->range);
}

}  // namespace dlaunch::jobfile::accelerate
