// The sections of a config file, whose keys accelerate launch takes for its own options
// (commands/launch.py), and hands to the program as variables (utils/launch.py).
#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "spec/dialects/accelerate.h"
#include "spec/expectation.h"
#include "spec/nearest.h"

namespace dlaunch::spec::accelerate {

namespace {

struct Renamed {
  std::string_view key;
  std::string_view variable;
};

constexpr std::array<Renamed, 13> kDeepspeed{
    {{"zero_stage", "ACCELERATE_DEEPSPEED_ZERO_STAGE"},
     {"offload_optimizer_device", "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE"},
     {"offload_param_device", "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE"},
     {"offload_optimizer_nvme_path", "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH"},
     {"offload_param_nvme_path", "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH"},
     {"zero3_init_flag", "ACCELERATE_DEEPSPEED_ZERO3_INIT"},
     {"zero3_save_16bit_model", "ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL"},
     {"deepspeed_config_file", "ACCELERATE_DEEPSPEED_CONFIG_FILE"},
     {"deepspeed_moe_layer_cls_names", "ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES"},
     {"gradient_accumulation_steps", "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"},
     {"gradient_clipping", "ACCELERATE_GRADIENT_CLIPPING"},
     {"msamp_opt_level", "ACCELERATE_DEEPSPEED_MSAMP_OPT_LEVEL"},
     {"zero3_leaf_modules", "ACCELERATE_DEEPSPEED_ZERO3_LEAF_MODULES"}}};

/// Where the variable is not the key in capitals.
constexpr std::array<Renamed, 2> kRenamed{
    {{"fsdp_transformer_layer_cls_to_wrap", "FSDP_TRANSFORMER_CLS_TO_WRAP"},
     {"fsdp_backward_prefetch_policy", "FSDP_BACKWARD_PREFETCH"}}};

// Keys without the prefix of their section.
constexpr std::string_view kFsdp[] = {"activation_checkpointing",
                                      "auto_wrap_policy",
                                      "backward_prefetch",
                                      "backward_prefetch_policy",
                                      "cpu_ram_efficient_loading",
                                      "forward_prefetch",
                                      "ignored_modules",
                                      "min_num_params",
                                      "offload_params",
                                      "reshard_after_forward",
                                      "sharding_strategy",
                                      "state_dict_type",
                                      "sync_module_states",
                                      "transformer_layer_cls_to_wrap",
                                      "use_orig_params",
                                      "version"};
constexpr std::string_view kMegatron[] = {"attention_backend",
                                          "attention_dropout",
                                          "attention_softmax_in_fp32",
                                          "calculate_per_token_loss",
                                          "context_parallel_size",
                                          "decoder_last_pipeline_num_layers",
                                          "eod_mask_loss",
                                          "expert_model_parallel_size",
                                          "expert_tensor_parallel_size",
                                          "gradient_clipping",
                                          "hidden_dropout",
                                          "no_load_optim",
                                          "no_save_optim",
                                          "num_micro_batches",
                                          "optimizer_cpu_offload",
                                          "overlap_cpu_optimizer_d2h_h2d",
                                          "pp_degree",
                                          "recompute_activations",
                                          "recompute_granularity",
                                          "recompute_method",
                                          "recompute_num_layers",
                                          "sequence_parallelism",
                                          "tp_degree",
                                          "use_custom_fsdp",
                                          "use_distributed_optimizer",
                                          "use_precision_aware_optimizer",
                                          "use_rotary_position_embeddings"};
constexpr std::string_view kParallelism[] = {
    "cp_backend",        "cp_comm_strategy", "cp_size",
    "dp_replicate_size", "dp_shard_size",    "sp_attn_implementation",
    "sp_backend",        "sp_seq_length",    "sp_seq_length_is_variable",
    "sp_size",           "tp_size"};

struct Section {
  std::string_view name;
  std::string_view prefix;
  std::span<const std::string_view> keys;
  std::string_view type;         // distributed_type that uses it; empty: any
  std::string_view use;          // the variable that says so
  bool may_lack_prefix = false;  // accelerate puts it before keys that have none
};
constexpr Section kSections[] = {
    {"fsdp_config", "fsdp_", kFsdp, "FSDP", "ACCELERATE_USE_FSDP", true},
    {"megatron_lm_config", "megatron_lm_", kMegatron, "MEGATRON_LM", "ACCELERATE_USE_MEGATRON_LM"},
    {"parallelism_config", "parallelism_config_", kParallelism, "",
     "ACCELERATE_USE_PARALLELISM_CONFIG"}};

std::string changed(std::string_view text, char from, char to, int by) {
  std::string out(text);
  for (char& c : out) c = c >= from && c <= to ? static_cast<char>(c + by) : c;
  return out;
}
std::string upper(std::string_view text) {
  return changed(text, 'a', 'z', 'A' - 'a');
}
std::string lower(std::string_view text) {
  return changed(text, 'A', 'Z', 'a' - 'A');
}

/// "true" and "false" as the readers of these variables compare them; other texts stay.
std::string value_of_variable(const std::string& text) {
  const std::string small = lower(text);
  return small == "true" || small == "false" ? small : text;
}

class SectionReader {
 public:
  SectionReader(Translation& translation, ForeignKeys& keys, const std::string& type)
      : t_(translation), keys_(keys), type_(type) {}

  void read() {
    read_deepspeed();
    for (const Section& section : kSections) read_section(section);
  }

 private:
  void set(std::string_view name, const std::string& value, Place at) {
    t_.job.text({"env", name}, value, at);
  }

  void note_unused(const ForeignKeys& section, std::string_view name) {
    const bool is_empty = !section.is_given() || t_.document[section.node()].items.empty();
    if (!is_empty) t_.not_used.push_back({std::string(name), section.place()});
  }

  void read_deepspeed() {
    ForeignKeys section = keys_.mapping("deepspeed_config");
    const bool is_used = type_ == "DEEPSPEED";
    std::string fields;
    for (const Renamed& renamed : kDeepspeed) {
      const auto value = section.text(renamed.key);
      if (!value || !is_used) continue;
      fields += (fields.empty() ? "" : ",") + std::string(renamed.key);
      set(renamed.variable, value_of_variable(value->text), value->place);
    }
    const std::vector<PlacedText> of_launcher =
        section.given_of({"deepspeed_multinode_launcher", "deepspeed_hostfile",
                          "deepspeed_inclusion_filter", "deepspeed_exclusion_filter"});
    section.refuse_others();
    if (!is_used) return note_unused(section, "deepspeed_config");
    set("ACCELERATE_USE_DEEPSPEED", "true", keys_.place());
    if (keys_.text("mixed_precision"))
      fields += (fields.empty() ? "" : ",") + std::string("mixed_precision");
    if (!fields.empty())
      set("ACCELERATE_CONFIG_DS_FIELDS", fields,
          section.is_given() ? section.place() : keys_.place());
    t_.not_used.insert(t_.not_used.end(), of_launcher.begin(), of_launcher.end());
  }

  void read_section(const Section& section) {
    ForeignKeys given = keys_.mapping(section.name);
    const bool is_used = section.type.empty() ? given.is_given() : type_ == section.type;
    if (is_used) set(section.use, "true", given.is_given() ? given.place() : keys_.place());
    for (const ForeignKey& key : given.all()) {
      const std::string whole =
          (key.name.starts_with(section.prefix) ? "" : std::string(section.prefix)) + key.name;
      if (!check_key(section, key, whole) || !is_used) continue;
      const Node& node = t_.document[key.value];
      if (node.kind == NodeKind::scalar) {
        set(variable_of(whole), value_of_variable(node.text), place_of(t_.document, key));
      } else if (node.kind != NodeKind::null) {
        t_.diagnostics.error(
            key.key, given.path_of(key.name) + " must have one value, not " + found_instead(node));
      }
    }
    if (!is_used) note_unused(given, section.name);
  }

  /// `whole`: the key with its prefix. False: it is unknown, which was reported.
  bool check_key(const Section& section, const ForeignKey& key, const std::string& whole) {
    std::vector<std::string> names;
    for (const std::string_view known : section.keys)
      names.push_back(std::string(section.prefix) + std::string(known));
    const bool is_known = std::find(names.begin(), names.end(), whole) != names.end();
    if (is_known && (whole == key.name || section.may_lack_prefix)) return true;
    t_.diagnostics.error(key.key,
                         "unknown key " + in_quotes(key.name) + " in " + std::string(section.name) +
                             (is_known ? ", did you mean " + in_quotes(whole) + '?'
                                       : did_you_mean(whole, {names.begin(), names.end()})));
    return false;
  }

  static std::string variable_of(const std::string& key) {
    const auto renamed = std::find_if(kRenamed.begin(), kRenamed.end(),
                                      [&](const Renamed& r) { return r.key == key; });
    return renamed != kRenamed.end() ? std::string(renamed->variable) : upper(key);
  }

  Translation& t_;
  ForeignKeys& keys_;
  const std::string& type_;
};

}  // namespace

void read_sections(Translation& translation, ForeignKeys& keys, const std::string& type) {
  SectionReader(translation, keys, type).read();
}

}  // namespace dlaunch::spec::accelerate
